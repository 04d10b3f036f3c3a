//! The state hash: FNV-1a (64 bit) over an explicit little-endian encoding of the whole world.
//!
//! Integers have their fixed width, lengths and variants are `u64` and `u32`, floats go by their
//! bits (NaN is refused in tests), maps are ordered maps. `std` hashing plays no part.

use serde::ser::{self, Serialize};

/// Hash of anything serializable; equal states give equal hashes on every platform.
pub fn state_hash<T: Serialize + ?Sized>(value: &T) -> u64 {
    let mut h = Hasher(0xcbf2_9ce4_8422_2325);
    // The encoder has no failure of its own; a type whose `Serialize` fails hashes what came before.
    let _ = value.serialize(&mut h);
    h.0
}

struct Hasher(u64);

impl Hasher {
    fn bytes(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    fn length(&mut self, n: usize) {
        self.bytes(&(n as u64).to_le_bytes());
    }
}

/// Never produced; serde asks for the type.
#[derive(Debug)]
pub struct Never(String);
impl std::fmt::Display for Never {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Never {}
impl ser::Error for Never {
    fn custom<T: std::fmt::Display>(msg: T) -> Never {
        Never(msg.to_string())
    }
}

macro_rules! numbers {
    ($($method:ident $ty:ty),*) => {$(
        fn $method(self, v: $ty) -> Result<(), Never> {
            self.bytes(&v.to_le_bytes());
            Ok(())
        }
    )*};
}

impl<'a> ser::Serializer for &'a mut Hasher {
    type Ok = ();
    type Error = Never;
    type SerializeSeq = &'a mut Hasher;
    type SerializeTuple = &'a mut Hasher;
    type SerializeTupleStruct = &'a mut Hasher;
    type SerializeTupleVariant = &'a mut Hasher;
    type SerializeMap = Counted<'a>;
    type SerializeStruct = &'a mut Hasher;
    type SerializeStructVariant = &'a mut Hasher;

    numbers!(serialize_i8 i8, serialize_i16 i16, serialize_i32 i32, serialize_i64 i64, serialize_i128 i128,
             serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64, serialize_u128 u128);

    fn serialize_bool(self, v: bool) -> Result<(), Never> {
        self.bytes(&[u8::from(v)]);
        Ok(())
    }
    fn serialize_f32(self, v: f32) -> Result<(), Never> {
        debug_assert!(!v.is_nan(), "NaN in the state");
        self.bytes(&v.to_bits().to_le_bytes());
        Ok(())
    }
    fn serialize_f64(self, v: f64) -> Result<(), Never> {
        debug_assert!(!v.is_nan(), "NaN in the state");
        self.bytes(&v.to_bits().to_le_bytes());
        Ok(())
    }
    fn serialize_char(self, v: char) -> Result<(), Never> {
        self.serialize_u32(v.into())
    }
    fn serialize_str(self, v: &str) -> Result<(), Never> {
        self.serialize_bytes(v.as_bytes())
    }
    fn serialize_bytes(self, v: &[u8]) -> Result<(), Never> {
        self.length(v.len());
        self.bytes(v);
        Ok(())
    }
    fn serialize_none(self) -> Result<(), Never> {
        self.bytes(&[0]);
        Ok(())
    }
    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Result<(), Never> {
        self.bytes(&[1]);
        v.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Never> {
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Never> {
        Ok(())
    }
    fn serialize_unit_variant(self, _: &'static str, i: u32, _: &'static str) -> Result<(), Never> {
        self.serialize_u32(i)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, v: &T) -> Result<(), Never> {
        v.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        i: u32,
        _: &'static str,
        v: &T,
    ) -> Result<(), Never> {
        self.serialize_u32(i)?;
        v.serialize(self)
    }
    /// The encoding needs a length in front; sequences of unknown length put it behind.
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, Never> {
        self.length(len.unwrap_or(usize::MAX));
        Ok(self)
    }
    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Never> {
        Ok(self)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Never> {
        Ok(self)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        i: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Never> {
        self.serialize_u32(i)?;
        Ok(self)
    }
    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, Never> {
        self.length(len.unwrap_or(usize::MAX));
        Ok(Counted { hasher: self, entries: 0 })
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Never> {
        Ok(self)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        i: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Never> {
        self.serialize_u32(i)?;
        Ok(self)
    }
    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! elements {
    ($($trait:ident :: $method:ident),*) => {$(
        impl ser::$trait for &mut Hasher {
            type Ok = ();
            type Error = Never;
            fn $method<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), Never> {
                v.serialize(&mut **self)
            }
            fn end(self) -> Result<(), Never> {
                Ok(())
            }
        }
    )*};
}
elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

macro_rules! fields {
    ($($trait:ident),*) => {$(
        impl ser::$trait for &mut Hasher {
            type Ok = ();
            type Error = Never;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, v: &T) -> Result<(), Never> {
                v.serialize(&mut **self)
            }
            fn end(self) -> Result<(), Never> {
                Ok(())
            }
        }
    )*};
}
fields!(SerializeStruct, SerializeStructVariant);

/// A map with its number of entries behind it, for maps that do not know it before.
pub struct Counted<'a> {
    hasher: &'a mut Hasher,
    entries: usize,
}

impl ser::SerializeMap for Counted<'_> {
    type Ok = ();
    type Error = Never;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, k: &T) -> Result<(), Never> {
        self.entries += 1;
        k.serialize(&mut *self.hasher)
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, v: &T) -> Result<(), Never> {
        v.serialize(&mut *self.hasher)
    }
    fn end(self) -> Result<(), Never> {
        self.hasher.length(self.entries);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_fixed() {
        assert_eq!(state_hash(&(1u32, "ab", Some(2.5f64), [3u8, 4])), 0x14aa_3b5c_6cdb_1acf);
    }

    #[test]
    fn neighbouring_values_do_not_run_together() {
        assert_ne!(state_hash(&("ab", "c")), state_hash(&("a", "bc")));
        assert_ne!(state_hash(&(Some(1u8), None::<u8>)), state_hash(&(None::<u8>, Some(1u8))));
    }
}
