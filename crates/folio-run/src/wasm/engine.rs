//! The engine: one configuration for compiling and running, or artifacts would not load, and the thread that
//! makes time pass for guests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

/// How long a guest computes before it lets others have the thread.
const TICK: Duration = Duration::from_millis(10);

/// Ticks without a guest after which the thread only looks in once a second.
const QUIET_TICKS: u32 = 10;

/// How often idle instances are looked through.
const SWEEP: Duration = Duration::from_secs(1);

/// Memory of a guest that is zeroed and kept instead of given back, so that the next guest takes no page faults.
const KEPT_RESIDENT_BYTES: usize = 1024 * 1024;

/// Slots whose memory stays warm although nobody uses them.
const WARM_SLOTS: u32 = 32;

/// Elements of one table. Interpreters compiled to wasm have some ten thousand.
pub(super) const TABLE_ELEMENTS_MAX: usize = 50_000;

/// Makes the engine. Hosts that cannot reserve the address space of a pool get one without.
pub(super) fn engine(instances_max: u32) -> wasmtime::Result<Engine> {
    let pooled = Engine::new(&configuration(Some(pool(instances_max))));
    pooled.or_else(|error| {
        tracing::warn!(%error, "No room for a pool of wasm instances: each is mapped anew, slower");
        Engine::new(&configuration(None))
    })
}

fn configuration(pool: Option<PoolingAllocationConfig>) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // Guests speak WASI 0.2, which has no concurrency inside an instance: no store pays for it.
        .concurrency_support(false)
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::Speed)
        .parallel_compilation(true)
        .memory_init_cow(true)
        .max_wasm_stack(512 * 1024)
        .async_stack_size(1024 * 1024);
    if let Some(pool) = pool {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

fn pool(instances_max: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances_max)
        .total_stacks(instances_max)
        .total_memories(instances_max)
        // A component is several core instances: the code, what adapts it, and the tables between them.
        .total_core_instances(instances_max.saturating_mul(8))
        .total_tables(instances_max.saturating_mul(2))
        .total_gc_heaps(instances_max.min(100))
        .table_elements(TABLE_ELEMENTS_MAX)
        .max_core_instance_size(2 * 1024 * 1024)
        .max_component_instance_size(4 * 1024 * 1024)
        .max_tables_per_module(8)
        .max_memories_per_module(4)
        .max_unused_warm_slots(WARM_SLOTS)
        .linear_memory_keep_resident(KEPT_RESIDENT_BYTES)
        .table_keep_resident(64 * 1024)
        .pagemap_scan(Enabled::Auto);
    pool
}

/// The thread that moves the engine's epoch while guests run, and calls the sweeper.
pub(super) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    busy: AtomicBool,
    stop: AtomicBool,
}

impl Ticker {
    /// Starts the thread.
    pub(super) fn start(
        engine: Engine,
        sweep: impl Fn() + Send + 'static,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let body = move || tick(&engine, &theirs, sweep);
        let thread = thread::Builder::new().name("wasm-ticker".to_owned()).spawn(body)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Says that a guest is about to run.
    pub(super) fn wake(&self) {
        if !self.shared.busy.load(Ordering::Relaxed) {
            self.shared.busy.store(true, Ordering::Relaxed);
            if let Some(thread) = &self.thread {
                thread.thread().unpark();
            }
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The sweeper may be the last to let go of a version and with it of this.
            let own = thread.thread().id() == thread::current().id();
            if !own && thread.join().is_err() {
                tracing::error!("The thread that interrupts wasm guests had panicked");
            }
        }
    }
}

fn tick(engine: &Engine, shared: &Shared, sweep: impl Fn()) {
    let mut quiet = 0;
    let mut since_sweep = Duration::ZERO;
    while !shared.stop.load(Ordering::Relaxed) {
        quiet = if shared.busy.swap(false, Ordering::Relaxed) { 0 } else { quiet + 1 };
        if quiet > QUIET_TICKS {
            thread::park_timeout(SWEEP);
            since_sweep += SWEEP;
        } else {
            thread::sleep(TICK);
            since_sweep += TICK;
            engine.increment_epoch();
        }
        if since_sweep >= SWEEP {
            since_sweep = Duration::ZERO;
            sweep();
        }
    }
}
