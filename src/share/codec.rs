//! Bytes <-> the fragment of a share link: `x1=` and base64url of deflate of (payload, CRC32).
//!
//! `x1` names the codec. Its reader is kept for ever: what was once shared keeps opening. What the
//! payload means is the business of the layers above. Reading is bounded before and after
//! inflating, whatever the text claims.

use base64::engine::{Engine as _, general_purpose::URL_SAFE_NO_PAD};
use base64::{DecodeError, DecodeSliceError};
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::{TINFLStatus, core as inflate};

/// What a link written by this release starts with.
pub const PREFIX: &str = "x1=";
/// Characters of a link that are read, the prefix included.
pub const ENCODED_CHARS_MAX: usize = 16 * 1024;
/// Bytes of a link's payload.
pub const PAYLOAD_BYTES_MAX: usize = 256 * 1024;
/// Links up to here, the page's address included, need no remark: the old limit of 2,000 that mail
/// and course systems follow, with some room.
pub const QUIET_CHARS_MAX: usize = 1_800;
/// Links up to here are offered with a warning (RFC 9110 asks everyone to accept 8,000 octets),
/// longer ones as a file.
pub const WARNED_CHARS_MAX: usize = 8_000;

const CRC_BYTES: usize = 4;

/// Why a link cannot be opened. Positions count characters of the link from 1, without a leading
/// `#` and blanks around it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    #[error("this is not a share link: it must start with `{PREFIX}`")]
    NotALink,
    #[error("the link uses format x{version}, which this release cannot read; it reads x1")]
    UnknownVersion { version: String },
    #[error("the link is {chars} characters long; the limit is {ENCODED_CHARS_MAX}")]
    TooLong { chars: usize },
    #[error("the link is damaged at character {position}: `{found}` does not belong there")]
    BadCharacter { position: usize, found: char },
    #[error("the link ends too early, after {chars} characters: a part is missing")]
    CutOff { chars: usize },
    #[error("the link is damaged: its packed data is invalid after {unpacked_bytes} unpacked bytes")]
    BadData { unpacked_bytes: usize },
    #[error("the link has {bytes} packed bytes too many at its end")]
    TrailingData { bytes: usize },
    #[error("the link unpacks to more than {PAYLOAD_BYTES_MAX} bytes")]
    TooLarge,
    #[error("the link is damaged: its checksum is {stored:08x}, its content has {computed:08x}")]
    WrongChecksum { stored: u32, computed: u32 },
}

/// Packs `payload` into a link's fragment, without the `#`. The caller compares the length with
/// [`QUIET_CHARS_MAX`] and [`WARNED_CHARS_MAX`]; a payload over [`PAYLOAD_BYTES_MAX`] gives a link
/// that [`decode`] refuses.
pub fn encode(payload: &[u8]) -> String {
    const LEVEL_BEST: u8 = 10;
    let mut bytes = payload.to_vec();
    bytes.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    let packed = miniz_oxide::deflate::compress_to_vec(&bytes, LEVEL_BEST);
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(packed))
}

/// Unpacks a link's fragment. A leading `#` and blanks around the text do not matter.
pub fn decode(link: &str) -> Result<Vec<u8>, LinkError> {
    let link = link.trim();
    let link = link.strip_prefix('#').unwrap_or(link);
    let text = match link.strip_prefix(PREFIX) {
        Some(text) => text,
        None => return Err(other_version(link)),
    };
    if link.len() > ENCODED_CHARS_MAX {
        return Err(LinkError::TooLong { chars: link.chars().count() });
    }
    let mut bytes = inflated(&packed(text)?, link.len())?;
    let Some(length) = bytes.len().checked_sub(CRC_BYTES) else {
        return Err(LinkError::BadData { unpacked_bytes: bytes.len() });
    };
    let mut stored = [0; CRC_BYTES];
    stored.copy_from_slice(&bytes[length..]);
    bytes.truncate(length);
    let (stored, computed) = (u32::from_le_bytes(stored), crc32fast::hash(&bytes));
    if stored == computed { Ok(bytes) } else { Err(LinkError::WrongChecksum { stored, computed }) }
}

fn other_version(link: &str) -> LinkError {
    const DIGITS_MAX: usize = 9;
    let version = link.strip_prefix('x').and_then(|rest| rest.split_once('=')).map(|(digits, _)| digits);
    match version {
        Some(v) if (1..=DIGITS_MAX).contains(&v.len()) && v.bytes().all(|b| b.is_ascii_digit()) => {
            LinkError::UnknownVersion { version: v.to_owned() }
        }
        _ => LinkError::NotALink,
    }
}

fn packed(text: &str) -> Result<Vec<u8>, LinkError> {
    let mut bytes = vec![0; base64::decoded_len_estimate(text.len())];
    let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes).map_err(|e| match e {
        DecodeSliceError::DecodeError(DecodeError::InvalidByte(offset, _)) => LinkError::BadCharacter {
            position: PREFIX.len() + offset + 1,
            // All bytes before the offset are ASCII, so it is the start of a character.
            found: text.get(offset..).and_then(|rest| rest.chars().next()).unwrap_or(char::REPLACEMENT_CHARACTER),
        },
        _ => LinkError::CutOff { chars: PREFIX.len() + text.len() },
    })?;
    bytes.truncate(length);
    Ok(bytes)
}

fn inflated(packed: &[u8], chars: usize) -> Result<Vec<u8>, LinkError> {
    const BYTES_MAX: usize = PAYLOAD_BYTES_MAX + CRC_BYTES;
    let mut out = vec![0; packed.len().saturating_mul(4).clamp(64, BYTES_MAX)];
    let mut state = inflate::DecompressorOxide::new();
    let (mut read, mut written) = (0, 0);
    loop {
        let (status, more_read, more_written) = inflate::decompress(
            &mut state,
            &packed[read..],
            &mut out,
            written,
            TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
        );
        read += more_read;
        written += more_written;
        match status {
            TINFLStatus::Done if read < packed.len() => {
                return Err(LinkError::TrailingData { bytes: packed.len() - read });
            }
            TINFLStatus::Done => {
                out.truncate(written);
                return Ok(out);
            }
            TINFLStatus::HasMoreOutput if out.len() == BYTES_MAX => return Err(LinkError::TooLarge),
            TINFLStatus::HasMoreOutput => out.resize((out.len() * 2).min(BYTES_MAX), 0),
            // It asks for bytes that are not there.
            TINFLStatus::FailedCannotMakeProgress => return Err(LinkError::CutOff { chars }),
            _ => {
                return Err(LinkError::BadData { unpacked_bytes: written });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A link of release 1, packed by zlib: it must open in every later one.
    const LINK: &str = "x1=q1YqTk1NUbIy11FKzs_NTcxLKVayilbKSSzNS86IT0_MS1fSUcrNL0uNz8tPSVWKrf327ZUiAA";

    fn raw(packed: &[u8]) -> String {
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(packed))
    }

    #[test]
    fn links_of_the_first_release_open() {
        assert_eq!(decode(LINK), Ok(br#"{"seed":7,"commands":["launch_gang","move_node"]}"#.to_vec()));
    }

    #[test]
    fn a_hash_and_blanks_around_do_not_matter() {
        let link = encode(b"abc");
        assert_eq!(decode(&format!("  #{link}\r\n")), Ok(b"abc".to_vec()));
    }

    #[test]
    fn other_texts_are_named() {
        assert_eq!(decode(""), Err(LinkError::NotALink));
        assert_eq!(decode("s=seven-of-eight"), Err(LinkError::NotALink));
        assert_eq!(decode("x=abc"), Err(LinkError::NotALink));
        assert_eq!(decode("x2=abc"), Err(LinkError::UnknownVersion { version: "2".into() }));
        assert_eq!(decode("x1="), Err(LinkError::CutOff { chars: 3 }));
    }

    #[test]
    fn damage_is_placed() {
        let link = encode(b"some payload that is long enough");
        let broken = link.replacen(link.chars().nth(9).unwrap(), "*", 1);
        let position = broken.find('*').unwrap() + 1;
        assert_eq!(decode(&broken), Err(LinkError::BadCharacter { position, found: '*' }));
        assert_eq!(decode("x1=aé"), Err(LinkError::BadCharacter { position: 5, found: 'é' }));
        assert_eq!(decode("x1=abcde"), Err(LinkError::CutOff { chars: 8 }));
        for chars in PREFIX.len()..link.len() {
            assert_eq!(decode(&link[..chars]), Err(LinkError::CutOff { chars }));
        }
        assert_eq!(decode("x1=_____"), Err(LinkError::CutOff { chars: 8 }));
        assert_eq!(decode("x1=____"), Err(LinkError::BadData { unpacked_bytes: 0 }));
    }

    #[test]
    fn a_changed_payload_is_noticed() {
        let mut bytes = b"hello".to_vec();
        bytes.extend_from_slice(&crc32fast::hash(b"hullo").to_le_bytes());
        let link = raw(&miniz_oxide::deflate::compress_to_vec(&bytes, 6));
        let computed = crc32fast::hash(b"hello");
        assert_eq!(decode(&link), Err(LinkError::WrongChecksum { stored: crc32fast::hash(b"hullo"), computed }));
        let short = raw(&miniz_oxide::deflate::compress_to_vec(b"abc", 6));
        assert_eq!(decode(&short), Err(LinkError::BadData { unpacked_bytes: 3 }));
    }

    #[test]
    fn bytes_after_the_end_are_refused() {
        let mut packed = URL_SAFE_NO_PAD.decode(&encode(b"abc")[PREFIX.len()..]).unwrap();
        packed.extend_from_slice(&[0, 1, 2]);
        assert_eq!(decode(&raw(&packed)), Err(LinkError::TrailingData { bytes: 3 }));
    }

    #[test]
    fn limits_hold_at_and_above() {
        let largest = vec![7; PAYLOAD_BYTES_MAX];
        assert_eq!(decode(&encode(&largest)), Ok(largest));
        assert_eq!(decode(&encode(&vec![7; PAYLOAD_BYTES_MAX + 1])), Err(LinkError::TooLarge));
        assert_eq!(decode(&encode(&vec![0; 10_000_000])), Err(LinkError::TooLarge));

        let text = |chars: usize| format!("{PREFIX}{}", "A".repeat(chars - PREFIX.len()));
        assert!(!matches!(decode(&text(ENCODED_CHARS_MAX)), Err(LinkError::TooLong { .. })));
        let chars = ENCODED_CHARS_MAX + 1;
        assert_eq!(decode(&text(chars)), Err(LinkError::TooLong { chars }));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_packed_is_unpacked(payload in prop::collection::vec(any::<u8>(), 0..2000)) {
            let link = encode(&payload);
            prop_assert!(link.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=".contains(&b)));
            prop_assert_eq!(decode(&link), Ok(payload));
        }

        #[test]
        fn no_text_panics(text in "(?s).{0,80}", base64 in "[A-Za-z0-9_-]{0,200}") {
            let _ = decode(&text);
            let _ = decode(&format!("x1={text}"));
            let _ = decode(&format!("x1={base64}"));
        }

        #[test]
        fn one_changed_character_never_gives_another_payload(
            payload in prop::collection::vec(any::<u8>(), 1..300), at: prop::sample::Index, with in "[A-Za-z0-9_-]"
        ) {
            let mut link = encode(&payload);
            let at = PREFIX.len() + at.index(link.len() - PREFIX.len());
            link.replace_range(at..=at, &with);
            prop_assert!(decode(&link).map_or(true, |read| read == payload));
        }
    }
}
