//! The `lab` command line: arguments to library calls, no logic.

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use seven_of_eight::i18n::{Lang, Message, clock, plain, render};
use seven_of_eight::problem::Problem;
use seven_of_eight::report::{self, Report};
use seven_of_eight::scenario::{self, Scenario, TraceChoice};
use seven_of_eight::session::Run;
use seven_of_eight::share;
use seven_of_eight::sim::decision::Decision;
use seven_of_eight::sim::id::ServiceId;
use seven_of_eight::sim::time::Time;
use seven_of_eight::sim::traffic::TraceReader;
use seven_of_eight::sim::units::{format_span, parse_span};
use seven_of_eight::sim::world::World;
use seven_of_eight::view::names::Names;
use seven_of_eight::view::{trace, why, words};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Parser)]
#[command(
    name = "lab",
    version,
    about = "Seven of Eight, a GPU autoscaling lab: the same simulation as the page's, natively"
)]
struct Arguments {
    #[command(subcommand)]
    command: Subcommands,
}

#[derive(Subcommand)]
enum Subcommands {
    /// Runs a scenario and prints report, ledger and state hash.
    Run {
        /// Library id (see `lab list`), or a scenario file.
        scenario: String,
        #[arg(long)]
        seed: Option<u64>,
        /// Overrides a value of the scenario file: `services.chat-8b.replicas=4`, or a parameter by
        /// its id: `hpa.signal=queue_depth`.
        #[arg(long, value_name = "PATH=VALUE")]
        set: Vec<String>,
        #[command(flatten)]
        trace: TraceArguments,
        /// Simulated time to stop at, since the start: 90s, 5m, 1h30m. Default: the whole run.
        #[arg(long, value_name = "TIME")]
        until: Option<String>,
        #[arg(long)]
        json: bool,
        /// Prints the why-log as well.
        #[arg(long)]
        why: bool,
    },
    /// Replays a share link and says whether its state hash holds.
    Open { link: String },
    /// Lists the library and the parameters.
    List,
}

/// A recorded trace as traffic.
#[derive(clap::Args)]
struct TraceArguments {
    /// A request trace (Azure LLM inference 2023 or 2024, BurstGPT, Mooncake) that drives a service.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The service that it drives. Default: the scaled one.
    #[arg(long, value_name = "NAME", requires = "trace")]
    trace_service: Option<String>,
    /// 2 plays an hour in half an hour.
    #[arg(long, value_name = "FACTOR", requires = "trace", default_value = "1")]
    trace_speed: String,
    /// Starts again at the end.
    #[arg(long, requires = "trace")]
    trace_repeat: bool,
    /// Cuts requests that are longer than the service's context; otherwise its engine refuses them.
    #[arg(long, requires = "trace")]
    trace_cut: bool,
    /// Takes only the lengths of the trace's rows; the service keeps its own arrivals.
    #[arg(long, requires = "trace")]
    trace_lengths_only: bool,
    /// Leaves requests with equal time stamps together, also where the format's stamps are coarse.
    #[arg(long, requires = "trace")]
    trace_unspread: bool,
}

fn main() -> std::process::ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    match arguments.command {
        Subcommands::Run { scenario, seed, set, trace, until, json, why } => {
            let mut scenario = open_scenario(&scenario, &set)?;
            if let Some(seed) = seed {
                scenario.setup.seed = seed;
            }
            if let Some(file) = &trace.trace {
                use_trace(&mut scenario, file, &trace)?;
            }
            let until = match until {
                None => scenario.setup.end,
                Some(text) => Time::ZERO + parse_span(&text).with_context(|| format!("--until {text}"))?,
            };
            if until > scenario.setup.end {
                let length = format_span(scenario.setup.end.since(Time::ZERO));
                bail!("--until: the run is over after {length} (--set length=... makes it longer)");
            }
            let mut run = Run::new(Arc::new(scenario.setup), Vec::new())?;
            run.advance(until, usize::MAX);
            print(&Report::of(run.world()), json)?;
            if why {
                say(&why_log(run.world()))?;
            }
            Ok(())
        }
        Subcommands::Open { link } => open_link(&link),
        Subcommands::List => say(&report::list()),
    }
}

fn open_scenario(name: &str, set: &[String]) -> Result<Scenario> {
    let pairs = set.iter().map(|s| {
        let pair = s.split_once('=').map(|(path, value)| (path.trim().to_owned(), value.to_owned()));
        pair.with_context(|| format!("--set {s}: write PATH=VALUE"))
    });
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    let text = match scenario::library_text(name) {
        Some(text) => text.to_owned(),
        None if Path::new(name).exists() => read_text(Path::new(name))?,
        None => {
            let ids: Vec<&str> = scenario::LIBRARY.iter().map(|(id, _)| *id).collect();
            bail!("no scenario `{name}`: neither a file nor one of {}", ids.join(", "));
        }
    };
    scenario::read(&text, &pairs).map_err(|problems| refused(name, &problems))
}

fn read_text(path: &Path) -> Result<String> {
    let limit = seven_of_eight::yaml::TEXT_BYTES_MAX as u64;
    let size = std::fs::metadata(path).with_context(|| path.display().to_string())?.len();
    if size > limit {
        bail!("{}: {size} bytes, at most {limit} are accepted", path.display());
    }
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn refused(what: &str, problems: &[Problem]) -> anyhow::Error {
    let lines: Vec<String> = problems.iter().map(|p| format!("  {p}")).collect();
    anyhow::anyhow!("{what} cannot be used\n{}", lines.join("\n"))
}

/// Reads a trace, says on the error stream what is in it, and makes it the traffic of a service.
fn use_trace(scenario: &mut Scenario, file: &Path, arguments: &TraceArguments) -> Result<()> {
    let mut reader = TraceReader::new();
    let mut input = std::fs::File::open(file).with_context(|| file.display().to_string())?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let n = input.read(&mut buffer).with_context(|| file.display().to_string())?;
        if n == 0 || !reader.push(&buffer[..n]).wants_more {
            break;
        }
    }
    let trace = reader.finish().with_context(|| file.display().to_string())?;
    let name = file.file_name().map_or_else(|| file.display().to_string(), |n| n.to_string_lossy().into_owned());
    let setup = &mut scenario.setup;
    let mut choice = TraceChoice::of(&trace, setup);
    if let Some(wanted) = &arguments.trace_service {
        let names: Vec<&str> = setup.services.iter().map(|s| s.name.as_str()).collect();
        let at = names.iter().position(|n| n == wanted);
        let at = at.with_context(|| format!("--trace-service {wanted}: there are {}", names.join(", ")))?;
        choice.service = ServiceId::from_index(at);
    }
    let text = |message: &Message| plain(&render(&Lang::english(), message));
    let speed = trace::read_speed(&arguments.trace_speed);
    choice.speed =
        speed.with_context(|| format!("--trace-speed {}: {}", arguments.trace_speed, text(&trace::speed_rule())))?;
    choice.repeat = arguments.trace_repeat;
    choice.cut = arguments.trace_cut;
    choice.lengths_only = arguments.trace_lengths_only;
    choice.spread &= !arguments.trace_unspread;
    for (label, value) in trace::facts(&trace, &trace.summary()) {
        eprintln!("{}: {}", text(&label), text(&value));
    }
    let mut notes = trace::notes(&trace, choice.spread);
    if let Some(service) = setup.services.get(choice.service.index()) {
        let limit = scenario::context_limit(service);
        let driven = trace::Driven { id: choice.service, name: service.name.clone(), limit };
        notes.push(trace::fit(&trace, trace.longer_than(limit), &driven, &choice));
    }
    notes.extend(trace::reach(&trace, &choice, setup.end.since(Time::ZERO)));
    for note in &notes {
        eprintln!("{}", text(note));
    }
    scenario::use_trace(setup, &name, Arc::new(trace), choice).map_err(|p| anyhow::anyhow!("{p}"))
}

fn open_link(link: &str) -> Result<()> {
    let fragment = link.split_once('#').map_or(link, |(_, fragment)| fragment);
    let opened = share::open(fragment).map_err(|problems| refused("link", &problems))?;
    let (at, promised) = (opened.at, opened.state_hash);
    for problem in &opened.ignored {
        eprintln!("lab: {problem}");
    }
    let mut run = Run::new(Arc::new(opened.scenario.setup), opened.log)?;
    run.advance(at, usize::MAX);
    print(&Report::of(run.world()), false)?;
    match promised {
        Some(hash) if hash == run.world().state_hash() => say("link: the state hash holds\n")?,
        Some(hash) => bail!("the link promises state hash {hash:016x}"),
        None => say("link: it promises no state hash\n")?,
    }
    Ok(())
}

/// The why-log in the page's words.
fn why_log(world: &World) -> String {
    let (lang, names) = (Lang::english(), Names::of(&world.snapshot()));
    let line = |d: &Decision| {
        let clock = clock(world.setup().day_start.0 + d.last_at.0);
        let times = if d.times > 1 { format!(" x{}", d.times) } else { String::new() };
        let (who, what) = (render(&lang, &words::who(d.who)), render(&lang, &why::sentence(d, &names)));
        format!("{clock}  {who}{times}: {}\n", plain(&what))
    };
    world.decisions().map(line).collect()
}

fn print(report: &Report, json: bool) -> Result<()> {
    if json { say(&format!("{}\n", serde_json::to_string_pretty(report)?)) } else { say(&report.text()) }
}

/// Writes to the terminal or a pipe; a reader that has seen enough is no error.
fn say(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}
