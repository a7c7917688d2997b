//! Components that serve `wasi:http`: what a store holds, what the host offers, and one request through an
//! instance. An instance serves one request at a time.

use std::sync::Arc;

use folio_core::logs::Stream;
use folio_core::ports::runtime::CallError;
use tokio::sync::oneshot;
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime::{Engine, Store, UpdateDeadline};
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView as _};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, Scheme};
use wasmtime_wasi_http::p2::bindings::{Proxy, ProxyPre};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::failure::{self, Failure};
use super::limits::Limits;
use super::loaded::Host;
use super::network::{self, Door};
use super::output::Output;
use super::request::{self, Caller, Incoming};

/// What a guest answers with.
pub(super) type Answer = Result<http::Response<HyperOutgoingBody>, ErrorCode>;

/// Resources a guest may hold at the same time.
const RESOURCES_MAX: usize = 10_000;

/// What a component's store holds.
pub(super) struct State {
    host: Arc<Host>,
    table: ResourceTable,
    http: WasiHttpCtx,
    door: Door,
    limits: Limits,
    /// Made when the guest first asks for it: many never do, and it costs as much as half an instance.
    wasi: Option<Box<WasiCtx>>,
    output: Option<Output>,
}

impl State {
    fn new(host: &Arc<Host>, caller: &Caller) -> Self {
        let mut table = ResourceTable::with_capacity(16);
        table.set_max_capacity(RESOURCES_MAX);
        Self {
            host: Arc::clone(host),
            table,
            http: WasiHttpCtx::new(),
            door: Door { invoke: Arc::clone(&host.invoke), caller: caller.clone() },
            limits: Limits::new(caller.plan.limits.memory_bytes, Arc::clone(host)),
            wasi: None,
            output: None,
        }
    }

    fn begin(&mut self, caller: &Caller) {
        self.door.caller = caller.clone();
        if let Some(output) = &self.output {
            output.begin(caller);
        }
    }

    fn end(&self) {
        if let Some(output) = &self.output {
            output.end();
        }
    }

    fn make_wasi(&mut self) -> Box<WasiCtx> {
        let caller = &self.door.caller;
        let output = Output::new(self.host.journal.clone(), caller);
        let mut wasi = request::surroundings(&caller.plan, self.host.files.as_deref());
        wasi.env("FOLIO_INVOKE", network::INVOKE);
        wasi.stdout(output.stream(Stream::Stdout)).stderr(output.stream(Stream::Stderr));
        self.output = Some(output);
        Box::new(wasi.build())
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        if self.wasi.is_none() {
            self.wasi = Some(self.make_wasi());
        }
        let ctx = self.wasi.as_mut().expect("it was just made");
        WasiCtxView { ctx, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.door, table: &mut self.table, ctx: &mut self.http }
    }
}

struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

/// Everything the host offers to components. Interfaces are added one by one so that streams reach the table
/// without making what else a guest may never ask for.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random, sockets};
    let mut linker = Linker::new(engine);
    let l = &mut linker;
    io::error::add_to_linker::<State, Table>(l, |state| &mut state.table)?;
    io::poll::add_to_linker::<State, Table>(l, |state| &mut state.table)?;
    io::streams::add_to_linker::<State, Table>(l, |state| &mut state.table)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(l)?;
    clocks::wall_clock::add_to_linker::<State, WasiClocks>(l, State::clocks)?;
    clocks::monotonic_clock::add_to_linker::<State, WasiClocks>(l, State::clocks)?;
    random::random::add_to_linker::<State, WasiRandom>(l, State::random)?;
    random::insecure::add_to_linker::<State, WasiRandom>(l, State::random)?;
    random::insecure_seed::add_to_linker::<State, WasiRandom>(l, State::random)?;
    cli::exit::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::environment::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::stdin::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::stdout::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::stderr::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_input::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_output::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_stdin::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_stdout::add_to_linker::<State, WasiCli>(l, State::cli)?;
    cli::terminal_stderr::add_to_linker::<State, WasiCli>(l, State::cli)?;
    filesystem::preopens::add_to_linker::<State, WasiFilesystem>(l, State::filesystem)?;
    filesystem::types::add_to_linker::<State, WasiFilesystem>(l, State::filesystem)?;
    sockets::instance_network::add_to_linker::<State, WasiSockets>(l, State::sockets)?;
    let plain = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<State, WasiSockets>(l, &plain, State::sockets)?;
    sockets::ip_name_lookup::add_to_linker::<State, WasiSockets>(l, State::sockets)?;
    sockets::tcp_create_socket::add_to_linker::<State, WasiSockets>(l, State::sockets)?;
    sockets::tcp::add_to_linker::<State, WasiSockets>(l, State::sockets)?;
    sockets::udp_create_socket::add_to_linker::<State, WasiSockets>(l, State::sockets)?;
    sockets::udp::add_to_linker::<State, WasiSockets>(l, State::sockets)?;
    Ok(linker)
}

/// A component's instance with its store.
pub(super) struct Instance {
    store: Store<State>,
    proxy: Option<Proxy>,
    served: u32,
}

impl Instance {
    /// Makes the store. The code is not instantiated yet: that may run some of it, and so belongs to
    /// [`Instance::serve`].
    pub(super) fn new(engine: &Engine, host: &Arc<Host>, caller: &Caller) -> Self {
        let mut store = Store::new(engine, State::new(host, caller));
        store.limiter(|state| &mut state.limits);
        store.epoch_deadline_callback(|store| {
            store.data().host.ticker.wake();
            Ok(UpdateDeadline::Yield(1))
        });
        Self { store, proxy: None, served: 0 }
    }

    /// Says whose request comes next.
    pub(super) fn begin(&mut self, caller: &Caller) {
        self.store.data_mut().begin(caller);
    }

    /// How many requests it served.
    pub(super) fn served(&self) -> u32 {
        self.served
    }

    /// Takes one request through the guest. What it answers goes to `answer` as soon as it does; the guest may
    /// go on after that. Gives the instance back where it can serve another.
    pub(super) async fn serve(
        mut self,
        pre: &ProxyPre<State>,
        request: http::Request<Incoming>,
        answer: oneshot::Sender<Answer>,
    ) -> Result<Self, Failure> {
        let served = self.run(pre, request, answer).await;
        let state = self.store.data();
        state.end();
        match served {
            Ok(()) => {
                self.served += 1;
                Ok(self)
            }
            Err(error) => Err(Failure::of(&error, state.limits.out_of_memory())),
        }
    }

    async fn run(
        &mut self,
        pre: &ProxyPre<State>,
        request: http::Request<Incoming>,
        answer: oneshot::Sender<Answer>,
    ) -> wasmtime::Result<()> {
        let Self { store, proxy, .. } = self;
        store.set_epoch_deadline(1);
        let proxy = match proxy {
            Some(proxy) => &*proxy,
            None => {
                let made = pre.instantiate_async(&mut *store).await;
                &*proxy.insert(made.map_err(failure::while_starting)?)
            }
        };
        let scheme = match request.uri().scheme_str() {
            Some("https") => Scheme::Https,
            _ => Scheme::Http,
        };
        let mut http = store.data_mut().http();
        let request = http.new_incoming_request(scheme, request)?;
        let answer = http.new_response_outparam(answer)?;
        proxy.wasi_http_incoming_handler().call_handle(store, request, answer).await
    }
}

/// Links a component, once for all its instances.
pub(super) fn link(
    linker: &Linker<State>,
    component: &wasmtime::component::Component,
) -> Result<ProxyPre<State>, CallError> {
    let refused = |error: wasmtime::Error| CallError::Load(format!("{error:#}"));
    let pre = linker.instantiate_pre(component).map_err(refused)?;
    ProxyPre::new(pre).map_err(|error| {
        CallError::Load(format!("the component does not serve wasi:http 0.2: {error:#}"))
    })
}
