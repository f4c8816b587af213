// SPDX-License-Identifier: MIT

use std::collections::HashMap;
use std::iter::FusedIterator;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::connection::Connection;
use crate::credentials::{self, Credentials};
use crate::error::{plain, Error};
use crate::given::Given;
use crate::message::Message;
use crate::msgpack::Value;
use crate::options::request_of;
use crate::ring::{Field, Ring};
use crate::share::Share;
use crate::tables::{Options, Start};
use crate::token::{self, Place, Token};

mod away;
mod listing;

pub(crate) const REPLY: Duration = Duration::from_secs(30);
pub(crate) const QUIET: Duration = Duration::from_secs(60); // an ATTACH reports progress more often
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(crate) const LAST_PAUSE: Duration = Duration::from_secs(1);
const HELD: Duration = Duration::from_secs(1); // for END, when no batch can come

/// Called with a text for people, in the thread that uses the reader.
pub type Warn = Arc<dyn Fn(&str) + Send + Sync>;

/// How to find the daemon.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// let told = Arc::new(Mutex::new(Vec::new()));
/// let log = Arc::clone(&told);
/// let warn = Arc::new(move |text: &str| log.lock().unwrap().push(text.to_owned()));
/// let client = stoker::Client { warn, ..stoker::Client::default() };
/// ```
#[derive(Clone)]
pub struct Client {
    /// Of the daemon. None: `$STOKER_SOCKET`, else the usual places.
    pub socket: Option<PathBuf>,
    /// How long to wait for a daemon that went away; zero: not at all.
    pub reconnect: Duration,
    /// Told what people should know: that the daemon is away or back, which read hangs.
    pub warn: Warn,
    /// Sent over each connection, before the dataset is asked for.
    pub credentials: Vec<Credentials>,
}

impl Default for Client {
    fn default() -> Client {
        Client {
            socket: None,
            reconnect: Duration::from_secs(60),
            warn: Arc::new(|text| eprintln!("stoker: {text}")),
            credentials: Vec::new(),
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("socket", &self.socket)
            .field("reconnect", &self.reconnect)
            .field("credentials", &self.credentials)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Attach to a stream; waits while the daemon indexes the dataset.
    pub fn attach(&self, options: Options) -> Result<Reader, Error> {
        self.attach_until(options, None)
    }

    /// The same, but [`Error::Timeout`] after this time.
    pub fn attach_within(&self, options: Options, timeout: Duration) -> Result<Reader, Error> {
        self.attach_until(options, Some(Instant::now() + timeout))
    }

    fn attach_until(&self, options: Options, until: Option<Instant>) -> Result<Reader, Error> {
        let mut request = request_of(&options)?;
        let mut connection = self.connect(until)?;
        let resize = token::settle_resize(&options, connection.resizes, &*self.warn)?;
        request.insert("resize", token::sent(&resize).into());
        let mut given = None;
        let (attached, identity) =
            attach(&mut connection, request, &mut given, options.token.as_ref(), &resize)?;
        connection.until = None;
        let Some(ring) = attached.ring.clone() else {
            return Err(connection.broken("an ATTACHED without a ring"));
        };
        let sized = ring.sized();
        let mut reader = Reader {
            client: self.clone(),
            inflight: options.inflight.into(),
            connection: Some(connection),
            given,
            ring,
            held: Arc::default(),
            at: Place::default(),
            end: 0,
            ended: false,
            over: false,
            away: None,
            tried: false,
            pause: FIRST_PAUSE,
            stalled: String::new(),
            blocking: 0,
            reconnects: 0,
            moves: 0,
            share: Share::new(&options, attached.uint("samples"), sized),
            samples: attached.uint("samples"),
            batches: attached.uint("batches"),
            identity,
            hashes: ["dataset_fingerprint", "pipeline_hash", "sampling_hash"]
                .map(|field| attached.text(field)),
            resize,
            options,
        };
        reader.begin(&attached)?;
        Ok(reader)
    }

    fn connect(&self, until: Option<Instant>) -> Result<Connection, Error> {
        let mut connection = Connection::open(self.socket.as_deref(), &self.warn, until)?;
        credentials::send(&mut connection, &self.credentials)?;
        Ok(connection)
    }
}

/// ATTACH, with descriptors of the dataset where the daemon is another user's: the same ones each
/// time. To the stream that a token is of, if there is one.
fn attach(
    connection: &mut Connection,
    request: HashMap<&'static str, Value>,
    given: &mut Option<Given>,
    was: Option<&Token>,
    resize: &str,
) -> Result<(Message, Token), Error> {
    let mut whole = request.clone();
    let mut descriptors: Vec<BorrowedFd> = Vec::new();
    if connection.takes_given {
        let given = given.get_or_insert_with(|| Given::new(&request));
        whole.extend(given.fields.clone());
        descriptors.extend(given.descriptors.iter().map(AsFd::as_fd));
    }
    whole.extend(was.map(Token::expected).unwrap_or_default());
    let mut ask = |whole| connection.request_with(&descriptors, "attach", "attached", whole, QUIET);
    let attached = match (ask(whole.clone()), was) {
        (Err(error), Some(was)) => {
            was.only_grew(error, &request)?;
            whole.remove("expect_description");
            ask(whole)?
        }
        (attached, _) => attached?,
    };
    let token = Token::of(&attached, &request, resize, was)?;
    Ok((attached, token))
}

/// A stream of batches: an iterator. If the daemon dies or is restarted, it waits, and goes on
/// behind the last batch that it gave.
///
/// Its calls block; in an asynchronous program they belong in a thread for such calls, with tokio:
/// `spawn_blocking(move || (reader.next_batch(), reader))`.
///
/// After [`Error::Sample`] the batch behind the one that is left out follows; after
/// [`Error::Timeout`] and [`Error::Held`] nothing is lost. Any other error is the iterator's last
/// item; [`Reader::next_batch`] may be called again, where a daemon may come back, and
/// [`Reader::seek`] begins again.
pub struct Reader {
    client: Client,
    options: Options,
    identity: Token,
    hashes: [String; 3],
    resize: String,
    connection: Option<Connection>, // None: the daemon is lost
    given: Option<Given>,           // descriptors of the dataset; None: not needed so far
    ring: Arc<Ring>,
    held: Arc<AtomicU64>, // batches of this attachment
    at: Place,            // the program has had everything before
    end: u64,             // the epoch after the last one; 0: endless
    ended: bool,
    over: bool,                     // as an iterator
    away: Option<(Error, Instant)>, // how it was lost, and when to give up
    tried: bool,                    // since then
    pause: Duration,
    stalled: String,
    blocking: u64, // the lease of the program's that the next batch waits for; 0: none
    inflight: u64,
    share: Share, // which batches are to come
    samples: u64,
    batches: u64,
    reconnects: u64,
    moves: u64,
}

impl Reader {
    fn begin(&mut self, attached: &Message) -> Result<(), Error> {
        self.at = Place { epoch: self.options.epoch.into(), position: self.options.position };
        if let Some(token) = &self.options.token {
            self.at = Place { epoch: token.epoch, position: token.position };
        }
        if self.options.start == Start::Live {
            let ours = u64::from(self.options.rank) * u64::from(self.options.batch_size);
            let position = attached.uint("position").checked_sub(ours);
            let Some(position) = position.filter(|position| *position < self.samples) else {
                return Err(Error::Protocol("a start outside of the epoch".into()));
            };
            self.at = Place { epoch: attached.uint("epoch"), position };
        }
        if self.options.epochs > 0 {
            self.end = self.at.epoch + u64::from(self.options.epochs);
        }
        if !attached.bytes("note").is_empty() {
            (self.client.warn)(&plain(&format!("the dataset: {}", attached.text("note"))));
        }
        Ok(())
    }

    /// In an epoch, over all ranks.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// In a whole epoch, for this rank.
    pub fn batches(&self) -> u64 {
        self.batches
    }

    /// Of a sample.
    pub fn fields(&self) -> &[Field] {
        &self.ring.fields
    }

    /// How often it has attached again to a daemon that came back.
    pub fn reconnects(&self) -> u64 {
        self.reconnects
    }

    /// How often it went on in another ring.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// The fingerprint of the dataset, the hash of transforms, dtype and layout, and that of order,
    /// sampler, echo and views, which is empty if there are none. The first is empty if
    /// only the names of a large folder are known yet.
    pub fn hashes(&self) -> [&str; 3] {
        self.hashes.each_ref().map(String::as_str)
    }

    /// Behind the last batch that was given.
    pub fn place(&self) -> Place {
        self.at
    }

    /// The same, and of which stream.
    pub fn token(&self) -> Token {
        let Place { epoch, position } = self.at;
        Token { epoch, position, ..self.identity.clone() }
    }

    /// The next batch; None at the end of the last epoch.
    pub fn next_batch(&mut self) -> Result<Option<Batch>, Error> {
        self.step_until(None)
    }

    /// The same, but [`Error::Timeout`] after this time.
    pub fn next_within(&mut self, timeout: Duration) -> Result<Option<Batch>, Error> {
        self.step_until(Some(Instant::now() + timeout))
    }

    fn step_until(&mut self, until: Option<Instant>) -> Result<Option<Batch>, Error> {
        while !self.ended {
            self.recover(until)?;
            if let Some(batch) = self.step(until)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn step(&mut self, until: Option<Instant>) -> Result<Option<Batch>, Error> {
        if self.ended {
            return Ok(None);
        }
        let message = match self.wait(until) {
            Ok(message) => message,
            Err(error) if self.connection.as_ref().is_some_and(Connection::lost) => {
                self.lose(error)?;
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.away = None;
        self.tried = false;
        self.pause = FIRST_PAUSE;
        self.handle(message)
    }

    fn connection(&mut self) -> Result<&mut Connection, Error> {
        let closed = || Error::Disconnected("there is no connection".into());
        self.connection.as_mut().ok_or_else(closed)
    }

    fn wait(&mut self, until: Option<Instant>) -> Result<Message, Error> {
        let holds_all = self.held.load(Ordering::Acquire) >= self.inflight;
        let blocking = self.blocking;
        let in_vain = holds_all || self.connection()?.link.holds(blocking);
        let short = in_vain.then(|| Instant::now() + HELD);
        let message = self.connection()?.receive(short.into_iter().chain(until).min())?;
        let stalled = &self.stalled;
        message.ok_or_else(|| match in_vain {
            true if holds_all => {
                Error::Held("all batches of inflight are held: drop one, or raise inflight".into())
            }
            true => Error::Held(stalled.trim_start_matches(": ").into()),
            false => Error::Timeout(format!("no batch came in time{stalled}")),
        })
    }

    fn handle(&mut self, message: Message) -> Result<Option<Batch>, Error> {
        match message.name {
            "batch" => return self.take(&message).map(Some),
            "bad_sample" => {
                self.advance(&message)?;
                return Err(Error::of_sample(&message));
            }
            "ring" => match message.ring {
                Some(ring) if ring.like(&self.ring) => {
                    self.moves += 1;
                    self.ring = ring; // batches that are held keep theirs
                }
                _ => return Err(self.connection()?.broken("a ring of other samples")),
            },
            "stalled" => self.stall(&message),
            "end" if self.share.next(self.at).epoch < self.end => {
                let text = self.share.disorder("the end", self.at, &message);
                return Err(self.connection()?.broken(&text));
            }
            "end" => self.ended = true,
            // It fills no more slots: held batches stay as they are without their leases.
            "goaway" => {
                let text = format!("stokerd is stopping: {}", message.text("text"));
                self.lose(Error::Disconnected(text.into()))?;
            }
            "error" => return Err(Error::of(&message)),
            other => {
                let text = format!("{other} instead of a batch");
                return Err(self.connection()?.broken(&text));
            }
        }
        Ok(None)
    }

    fn take(&mut self, message: &Message) -> Result<Batch, Error> {
        let count = message.uint("count");
        let good = count <= self.options.batch_size.into();
        let runs = message.runs();
        let sized = !self.ring.sized() || self.ring.has_size(&runs, message.size());
        if !good || !self.ring.has(&runs, count) || !sized {
            let text = "a batch that is too large or outside of the ring";
            return Err(self.connection()?.broken(text));
        }
        self.advance(message)?;
        if !message.bytes("dataset_fingerprint").is_empty() {
            let found = message.text("dataset_fingerprint");
            self.identity.fingerprints.entry("dataset".into()).or_insert(found);
        }
        let link = Arc::clone(&self.connection()?.link);
        Ok(Batch::new(message, &self.ring, &link, &self.held))
    }

    fn advance(&mut self, message: &Message) -> Result<(), Error> {
        let lease = match message.name {
            "batch" => Some(message.uint("lease")),
            _ => None, // a bad sample
        };
        let again = lease.is_some_and(|lease| {
            self.connection.as_ref().is_some_and(|connection| lease <= connection.last_lease)
        });
        if again || !self.share.has(self.at, message) {
            let text = self.share.disorder("a batch", self.at, message);
            return Err(self.connection()?.broken(&text));
        }
        let connection = self.connection()?;
        connection.last_lease = lease.unwrap_or(connection.last_lease);
        self.at = message.place();
        self.stalled.clear();
        self.blocking = 0;
        Ok(())
    }

    fn stall(&mut self, message: &Message) {
        self.blocking = message.uint("lease");
        self.stalled = match message.text("why") {
            why if !why.is_empty() => format!(": {why}"),
            _ => format!(
                ": the read of {:?} has taken {} s so far: does its storage hang?",
                message.os_string("path"),
                message.uint("read_ms") / 1000
            ),
        };
        let (epoch, position) = (message.uint("epoch"), message.uint("position"));
        let text = format!("epoch {epoch}, position {position} waits{}", self.stalled);
        (self.client.warn)(&plain(&text));
    }

    /// Go on at another place of the same stream, on the same connection. Batches that are held stay
    /// as they are. If the daemon refuses the place, the stream goes on where it was.
    pub fn seek(&mut self, place: Place) -> Result<(), Error> {
        if self.connection.is_some() {
            let moved = self.connection()?.request("detach", "ok", HashMap::new(), REPLY);
            let moved = moved.and_then(|_| {
                self.connection()?.forget();
                self.attach_at(place)
            });
            match moved {
                Ok(more) => self.ended = !more,
                Err(error @ Error::Refused(_)) if !self.connection()?.ended() => {
                    self.ended = !self.attach_at(self.at)?;
                    return Err(error);
                }
                Err(error) if self.connection()?.lost() => self.lose(error)?,
                Err(error) => return Err(error),
            }
        }
        if self.connection.is_none() {
            self.ended = false;
        }
        self.at = place;
        self.over = false;
        Ok(())
    }

    /// Other credentials in the place of those of [`Client`], some minutes before these expire. If
    /// the daemon is away, the next one gets them.
    pub fn set_credentials(&mut self, credentials: Vec<Credentials>) -> Result<(), Error> {
        if let Some(connection) = &mut self.connection {
            match credentials::send(connection, &credentials) {
                Err(error) if connection.lost() => self.lose(error)?,
                sent => sent?,
            }
        }
        self.client.credentials = credentials;
        Ok(())
    }

    /// False behind the last epoch.
    fn attach_at(&mut self, place: Place) -> Result<bool, Error> {
        if self.end > 0 && place.epoch >= self.end {
            return Ok(false);
        }
        let mut request = request_of(&self.options)?;
        request.remove("start");
        request.insert("resize", token::sent(&self.resize).into());
        let epochs = self.end.saturating_sub(place.epoch);
        request.extend([
            ("epoch", place.epoch.into()),
            ("position", place.position.into()),
            ("epochs", epochs.into()),
            ("inflight", self.inflight.into()),
        ]);
        let Some(connection) = self.connection.as_mut() else {
            return Err(Error::Disconnected("there is no connection".into()));
        };
        let (attached, identity) =
            attach(connection, request, &mut self.given, Some(&self.identity), &self.resize)?;
        self.identity = identity;
        match attached.ring {
            Some(ring) if ring.like(&self.ring) => self.ring = ring,
            _ => return Err(self.connection()?.broken("a ring of other samples")),
        }
        self.held = Arc::default();
        self.blocking = 0;
        Ok(true)
    }

    /// Change the largest number of batches that are ready or held.
    pub fn set_inflight(&mut self, inflight: u32) -> Result<(), Error> {
        if !(1..=1024).contains(&inflight) {
            return Err(Error::Option(format!("inflight is {inflight}, not 1 to 1024")));
        }
        self.inflight = inflight.into();
        match &self.connection {
            Some(connection) => {
                connection.send("credit", HashMap::from([("inflight", inflight.into())]))
            }
            None => Ok(()), // the next ATTACH says the number
        }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Reader { at, ended, reconnects, moves, .. } = self;
        write!(
            f,
            "Reader {{ at: {at:?}, ended: {ended}, reconnects: {reconnects}, moves: {moves} }}"
        )
    }
}

impl Iterator for Reader {
    type Item = Result<Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let item = self.next_batch().transpose();
        self.over = match &item {
            Some(Err(error)) => !error.goes_on(),
            Some(Ok(_)) => false,
            None => true,
        };
        item
    }
}

impl FusedIterator for Reader {}
