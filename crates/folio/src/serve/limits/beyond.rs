//! The limits that are not the core's: those of the gateway, of workers, of wasm and of builds. Start at [`LIMITS`].

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::Result;

use super::ServerLimits;
use crate::problem::Problem;

/// What the kernel can still count.
const BYTES_MAX: u64 = i64::MAX as u64;
const COUNT_MAX: u64 = u32::MAX as u64;
/// A year: what is longer is no limit, and the clocks of timers end somewhere.
const TIME_MS_MAX: u64 = 365 * 24 * 60 * 60 * 1000;
/// No request has a shorter head.
const HEADER_BYTES_MIN: u64 = 256;
/// The gateway has room for no more.
const HEADERS_MAX: u64 = 256;
/// The smallest `/tmp` there is. Without any size it would have no end.
const TMP_BYTES_MIN: u64 = 4096;
/// Linux has numbers for hardly more.
const PROCESSES_MAX: u64 = 4_000_000;
/// Each takes address space from the start; of 25,000 it was not enough, and the number no longer holds.
const INSTANCES_MAX: u64 = 20_000;

/// One limit.
pub(super) struct Limit {
    /// What it is set by.
    pub(super) name: &'static str,
    /// What it limits, as a line of help: not more than fits beside name and default.
    pub(super) about: &'static str,
    range: RangeInclusive<u64>,
    place: fn(&mut ServerLimits) -> Place<'_>,
}

/// Where a limit is kept. Time is set in milliseconds.
enum Place<'a> {
    Bytes(&'a mut u64),
    Count(&'a mut u32),
    Size(&'a mut usize),
    Time(&'a mut Duration),
}

impl Limit {
    /// What it is.
    pub(super) fn get(&self, limits: &mut ServerLimits) -> u64 {
        match (self.place)(limits) {
            Place::Bytes(place) => *place,
            Place::Count(place) => u64::from(*place),
            Place::Size(place) => *place as u64,
            Place::Time(place) => u64::try_from(place.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Sets it, unless nothing would work with it.
    pub(super) fn set(&self, limits: &mut ServerLimits, value: u64) -> Result<()> {
        let (least, most) = (self.range.start(), self.range.end());
        if !self.range.contains(&value) {
            let problem = Problem::usage(format!("limit `{}` cannot be {value}", self.name));
            return Err(problem.hint(format!("it is from {least} to {most}")).into());
        }
        match (self.place)(limits) {
            Place::Bytes(place) => *place = value,
            Place::Count(place) => *place = u32::try_from(value)?,
            Place::Size(place) => *place = usize::try_from(value)?,
            Place::Time(place) => *place = Duration::from_millis(value),
        }
        Ok(())
    }
}

/// Every limit that is not the core's.
pub(super) const LIMITS: &[Limit] = &[
    Limit {
        name: "requestBodyBytesMax",
        about: "bytes of the body of a request at the gateway",
        range: 0..=BYTES_MAX,
        place: |limits| Place::Bytes(&mut limits.gateway.body_bytes_max),
    },
    Limit {
        name: "requestBodyBytesPerSecondMin",
        about: "bytes per second at which such a body has to arrive",
        range: 1..=BYTES_MAX,
        place: |limits| Place::Bytes(&mut limits.gateway.body_rate_min),
    },
    Limit {
        name: "answerBytesPerSecondMin",
        about: "bytes per second at which an answer has to be taken",
        range: 1..=BYTES_MAX,
        place: |limits| Place::Bytes(&mut limits.gateway.answer_rate_min),
    },
    Limit {
        name: "headerBytesMax",
        about: "bytes of the head of a request at the gateway",
        range: HEADER_BYTES_MIN..=COUNT_MAX,
        place: |limits| Place::Size(&mut limits.gateway.header_bytes_max),
    },
    Limit {
        name: "headersMax",
        about: "headers of a request at the gateway",
        range: 1..=HEADERS_MAX,
        place: |limits| Place::Size(&mut limits.gateway.headers_max),
    },
    Limit {
        name: "headerTimeoutMs",
        about: "time for a head, and until the rate of a body counts",
        range: 1..=TIME_MS_MAX,
        place: |limits| Place::Time(&mut limits.gateway.header_timeout),
    },
    Limit {
        name: "idleTimeoutMs",
        about: "silence between requests, and of whoever is answered",
        range: 1..=TIME_MS_MAX,
        place: |limits| Place::Time(&mut limits.gateway.idle_timeout),
    },
    Limit {
        name: "connectionsMax",
        about: "connections to the gateway at the same time; more wait",
        range: 1..=COUNT_MAX,
        place: |limits| Place::Size(&mut limits.gateway.connections_max),
    },
    Limit {
        name: "drainTimeoutMs",
        about: "time for requests to finish when the server stops",
        range: 0..=TIME_MS_MAX,
        place: |limits| Place::Time(&mut limits.gateway.drain),
    },
    Limit {
        name: "workersMax",
        about: "workers of all Node.js and Python functions together",
        range: 1..=COUNT_MAX,
        place: |limits| Place::Count(&mut limits.running.workers_max),
    },
    Limit {
        name: "waitingRequestsMax",
        about: "requests of one version that wait for a worker",
        range: 1..=COUNT_MAX,
        place: |limits| Place::Size(&mut limits.running.waiting_max),
    },
    Limit {
        name: "workerProcessesMax",
        about: "processes and threads of one worker",
        range: 1..=PROCESSES_MAX,
        place: |limits| Place::Count(&mut limits.running.processes_max),
    },
    Limit {
        name: "workerTmpBytes",
        about: "room in a worker's `/tmp`",
        range: TMP_BYTES_MIN..=BYTES_MAX,
        place: |limits| Place::Bytes(&mut limits.running.tmp_bytes),
    },
    Limit {
        name: "keepWarmMs",
        about: "how long a version without pointers keeps its workers",
        range: 0..=TIME_MS_MAX,
        place: |limits| Place::Time(&mut limits.running.keep_warm),
    },
    Limit {
        name: "wasmInstancesMax",
        about: "wasm instances of all versions at the same time",
        range: 1..=INSTANCES_MAX,
        place: |limits| Place::Count(&mut limits.running.wasm.instances_max),
    },
    Limit {
        name: "wasmCodeBytesMax",
        about: "bytes of one wasm file",
        range: 1..=BYTES_MAX,
        place: |limits| Place::Bytes(&mut limits.running.wasm.code_bytes_max),
    },
    Limit {
        name: "wasmCacheBytesMax",
        about: "bytes of compiled wasm kept on disk",
        range: 0..=BYTES_MAX,
        place: |limits| Place::Bytes(&mut limits.running.wasm.cache_bytes_max),
    },
    Limit {
        name: "wasmKeepWarmMs",
        about: "how long a wasm version without pointers stays loaded",
        range: 0..=TIME_MS_MAX,
        place: |limits| Place::Time(&mut limits.running.wasm.warm_for),
    },
    Limit {
        name: "buildTimeoutMs",
        about: "how long one build may take",
        range: 1..=TIME_MS_MAX,
        place: |limits| Place::Time(&mut limits.running.build.timeout),
    },
    Limit {
        name: "buildMemoryBytes",
        about: "memory of all processes of one build",
        range: 1..=BYTES_MAX,
        place: |limits| Place::Bytes(&mut limits.running.build.memory_bytes),
    },
    Limit {
        name: "buildDiskBytes",
        about: "what one build may write, its source included",
        range: 1..=BYTES_MAX,
        place: |limits| Place::Bytes(&mut limits.running.build.disk_bytes),
    },
    Limit {
        name: "buildProcessesMax",
        about: "processes and threads of one build",
        range: 1..=PROCESSES_MAX,
        place: |limits| Place::Count(&mut limits.running.build.processes_max),
    },
    Limit {
        name: "functionLogBytesMax",
        about: "bytes kept in memory of what each function printed",
        range: 0..=BYTES_MAX,
        place: |limits| Place::Size(&mut limits.log_bytes_max),
    },
];
