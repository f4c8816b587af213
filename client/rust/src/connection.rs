// SPDX-License-Identifier: MIT
//! One connection to the daemon, as messages. One thread at a time receives; any thread may give a
//! batch back. Knows no batch.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::io::{retry_on_intr, Errno};
use rustix::net::{
    recvmsg, sendmsg, sockopt, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use rustix::process::{geteuid, getuid};

use crate::error::{plain, Cause, Error};
use crate::given::GIVEN_MAX;
use crate::message::{self, Message};
use crate::msgpack::Value;
use crate::pulse::{Pulse, Step, SAY};
use crate::reader::Warn;
use crate::ring::{Ring, Tray};
use crate::tables;
use crate::token::PILLOW_13;

const REPLY: Duration = Duration::from_secs(30);
const GREETING: Duration = Duration::from_secs(10); // then the next socket is tried
const INBOX_MAX: usize = 65_536;
const ENDING_CODE: u64 = 19; // errors up to this one end the connection
const DESCRIPTORS_MAX: usize = 8;
const OTHERS_MAY_WRITE: u32 = 0o002;
const PATH_MOST: usize = 107; // bytes, of an address

/// The sending half, which batches share.
pub(crate) struct Link {
    socket: UnixStream,
    sending: Mutex<()>,
    leases: Mutex<HashSet<u64>>, // those that the program has not given back
    closed: AtomicBool,
}

impl Link {
    /// If the daemon has hung up, reading says why.
    fn write(&self, frame: &[u8], given: &[BorrowedFd]) {
        let _one = self.sending.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.closed.load(Ordering::Acquire) {
            let sent = self.write_given(frame, given);
            let _ = (&self.socket).write_all(&frame[sent..]);
        }
    }

    /// Descriptors go with the first byte of a frame. How much of it they took along.
    fn write_given(&self, frame: &[u8], given: &[BorrowedFd]) -> usize {
        if given.is_empty() {
            return 0;
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(GIVEN_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(given));
        let whole = [IoSlice::new(frame)];
        let send = || sendmsg(&self.socket, &whole, &mut control, SendFlags::NOSIGNAL);
        retry_on_intr(send).unwrap_or(0)
    }

    /// The program has this one now.
    pub fn hold(&self, lease: u64) {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner).insert(lease);
    }

    pub fn holds(&self, lease: u64) -> bool {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner).contains(&lease)
    }

    pub fn release(&self, lease: u64) {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner).remove(&lease);
        if let Ok(frame) = message::encode("release", HashMap::from([("lease", lease.into())])) {
            self.write(&frame, &[]);
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }
}

/// Tells threads that wait for messages that they are to end.
pub(crate) struct Quit {
    said: AtomicBool,
    heard: UnixStream, // at its end when it is said
    end: UnixStream,
}

impl Quit {
    pub fn new() -> Result<Quit, Error> {
        let (heard, end) = UnixStream::pair().map_err(|error| Error::Unavailable(error.into()))?;
        Ok(Quit { said: AtomicBool::new(false), heard, end })
    }

    pub fn say(&self) {
        self.said.store(true, Ordering::Release);
        let _ = self.end.shutdown(std::net::Shutdown::Both);
    }

    pub fn said(&self) -> bool {
        self.said.load(Ordering::Acquire)
    }
}

pub(crate) struct Connection {
    pub link: Arc<Link>,
    /// Of a dataset: they show what the daemon's user may not read.
    pub takes_given: bool,
    pub takes_credentials: bool,
    /// That the reader took.
    pub last_lease: u64,
    pub resizes: bool, // it knows the word resize
    path: PathBuf,     // of the socket, for people
    warn: Warn,
    pulse: Pulse,
    seq: u64,
    data: Vec<u8>,
    descriptors: VecDeque<OwnedFd>,
    inbox: VecDeque<Message>,
    partial: Option<Instant>, // when a frame began that is not whole yet
    /// When no request waits any longer.
    pub until: Option<Instant>,
    /// Once it is said, nothing is waited for any longer.
    pub quit: Option<Arc<Quit>>,
    ended: Option<Error>, // why
    fatal: bool,          // what came before counts no more, and nobody comes back
}

fn places(given: Option<&Path>) -> Vec<PathBuf> {
    if let Some(path) = given {
        return vec![path.into()];
    }
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = variable("STOKER_SOCKET") {
        return vec![path.into()];
    }
    let mine = variable("XDG_RUNTIME_DIR").map(|at| Path::new(&at).join("stoker/stokerd.sock"));
    let rest = [
        format!("/tmp/stoker-{}/stokerd.sock", getuid().as_raw()).into(),
        "/run/stoker/stokerd.sock".into(),
    ];
    mine.into_iter().chain(rest).collect()
}

/// Root and this user are trusted; so is the owner of the directory, unless others could have made
/// the directory.
fn trusted(path: &Path, uid: u32) -> bool {
    if uid == 0 || uid == geteuid().as_raw() {
        return true;
    }
    let Ok(real) = path.canonicalize() else { return false };
    real.ancestors().skip(1).enumerate().all(|(i, folder)| {
        folder.metadata().is_ok_and(|status| {
            (i > 0 || status.uid() == uid) && status.mode() & OTHERS_MAY_WRITE == 0
        })
    })
}

/// What a system call failed with.
fn system(errno: Errno) -> Cause {
    std::io::Error::from(errno).into()
}

impl Connection {
    /// Connect to the first socket that answers, and say HELLO.
    pub fn open(
        given: Option<&Path>,
        warn: &Warn,
        until: Option<Instant>,
    ) -> Result<Connection, Error> {
        let mut tried = Vec::new();
        for path in places(given) {
            match Connection::open_at(&path, warn, until) {
                Err(Error::Unavailable(why)) => tried.push(why),
                other => return other,
            }
        }
        let texts: Vec<_> = tried.iter().map(Cause::to_string).collect();
        let text = format!("no stokerd answers: {}", texts.join("; "));
        let cause = tried.first().map(|cause| cause.with_text(text.clone()));
        Err(Error::Unavailable(cause.unwrap_or_else(|| text.into())))
    }

    fn open_at(path: &Path, warn: &Warn, until: Option<Instant>) -> Result<Connection, Error> {
        let why = |cause: Cause| {
            let text = format!("cannot connect to {}: {cause}", path.display());
            Error::Unavailable(cause.with_text(text))
        };
        let size = path.as_os_str().len();
        if size > PATH_MOST {
            let text = format!(
                "{} has {size} bytes; a socket's path can have at most {PATH_MOST}",
                path.display()
            );
            return Err(Error::Unavailable(text.into()));
        }
        let socket = UnixStream::connect(path).map_err(|error| why(error.into()))?;
        let peer = sockopt::socket_peercred(&socket).map_err(|errno| why(system(errno)))?;
        if !trusted(path, peer.uid.as_raw()) {
            let text = format!("served by uid {}, which is not trusted", peer.uid.as_raw());
            return Err(why(text.into()));
        }
        let link = Link {
            socket,
            sending: Mutex::default(),
            leases: Mutex::default(),
            closed: AtomicBool::new(false),
        };
        let mut connection = Connection {
            link: Arc::new(link),
            takes_given: false,
            takes_credentials: false,
            last_lease: 0,
            resizes: false,
            path: path.into(),
            warn: Arc::clone(warn),
            pulse: Pulse::new(),
            seq: 0,
            data: Vec::new(),
            descriptors: VecDeque::new(),
            inbox: VecDeque::new(),
            partial: None,
            until,
            quit: None,
            ended: None,
            fatal: false,
        };
        let version: Value = tables::VERSION.into();
        let client = concat!("stoker-rust ", env!("CARGO_PKG_VERSION"));
        let hello = [("version_min", version.clone()), ("version_max", version)];
        let hello = HashMap::from(hello).into_iter().chain([("client", client.into())]).collect();
        match connection.request("hello", "welcome", hello, GREETING) {
            Ok(welcome) => {
                connection.pulse.greeted = true;
                connection.takes_given = peer.uid != geteuid() && welcome.can("descriptors");
                connection.takes_credentials = welcome.can("credentials");
                connection.resizes = welcome.can(PILLOW_13);
                Ok(connection)
            }
            Err(Error::Disconnected(cause)) => Err(why(cause)),
            Err(Error::Timeout(text)) if until.map_or(true, |until| Instant::now() < until) => {
                Err(why(text.into()))
            }
            Err(error) => Err(error),
        }
    }

    /// Read what has come. False: the connection has ended.
    pub fn look(&mut self) -> bool {
        while self.ended.is_none() && self.read_some().unwrap_or(false) {}
        self.ended.is_none()
    }

    pub fn ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Did the daemon go away, so that another one may be waited for?
    pub fn lost(&self) -> bool {
        self.ended.is_some() && !self.fatal
    }

    pub fn send(&self, name: &str, values: HashMap<&str, Value>) -> Result<(), Error> {
        self.link.write(&message::encode(name, values).map_err(Error::Option)?, &[]);
        Ok(())
    }

    /// Send a request and wait for its reply; other messages stay. `quiet` is how long the daemon
    /// may say nothing. A reply that is given up may still come, so the connection is then closed.
    pub fn request(
        &mut self,
        name: &str,
        reply: &str,
        values: HashMap<&str, Value>,
        quiet: Duration,
    ) -> Result<Message, Error> {
        self.request_with(&[], name, reply, values, quiet)
    }

    /// ... with descriptors.
    pub fn request_with(
        &mut self,
        given: &[BorrowedFd],
        name: &str,
        reply: &str,
        mut values: HashMap<&str, Value>,
        quiet: Duration,
    ) -> Result<Message, Error> {
        self.seq += 1;
        let seq = self.seq;
        values.insert("seq", seq.into());
        self.link.write(&message::encode(name, values).map_err(Error::Option)?, given);
        loop {
            let wanted = |other: &Message| other.uint("seq") == seq;
            let silent = Instant::now() + quiet;
            let until = self.until.map_or(silent, |until| until.min(silent));
            let message = match self.receive_if(Some(until), wanted)? {
                Some(message) => message,
                None => {
                    let text = match until < silent {
                        true => format!("stokerd did not answer {name} in time"),
                        false => format!("stokerd did not answer {name} within {quiet:?}"),
                    };
                    return Err(self.end(Error::Timeout(text)));
                }
            };
            match message.name {
                "progress" => {}
                "error" => return Err(Error::of(&message)),
                other if other == reply => return Ok(message),
                other => return Err(self.broken(&format!("{other} as the answer to {name}"))),
            }
        }
    }

    /// The next message; None at `until`, and once it is to quit.
    pub fn receive(&mut self, until: Option<Instant>) -> Result<Option<Message>, Error> {
        self.receive_if(until, |_| true)
    }

    /// All that has come is looked at first, so that an error that ended the connection is told
    /// before batches that came before it.
    fn receive_if(
        &mut self,
        until: Option<Instant>,
        wanted: impl Fn(&Message) -> bool,
    ) -> Result<Option<Message>, Error> {
        self.pulse.begin();
        loop {
            while self.ended.is_none() && self.read_some()? {
                self.pulse.begin();
            }
            if let (true, Some(error)) = (self.fatal, &self.ended) {
                return Err(error.clone());
            }
            if let Some(at) = self.inbox.iter().position(&wanted) {
                return Ok(self.inbox.remove(at));
            }
            if let Some(error) = &self.ended {
                return Err(error.clone());
            }
            let quits = self.quit.as_ref().is_some_and(|quit| quit.said());
            if quits || until.is_some_and(|until| Instant::now() >= until) {
                return Ok(None);
            }
            self.feel();
            self.wait(until)?;
        }
    }

    /// Ask a daemon that is silent for a sign of life, or say that none has come.
    fn feel(&mut self) {
        match self.pulse.step(self.seq + 1) {
            Step::Wait => {}
            Step::Ask => {
                self.seq += 1;
                let seq = HashMap::from([("seq", self.seq.into())]);
                let _ = self.send("ping", seq); // reading says why
            }
            Step::Say => (self.warn)(&plain(&format!(
                "stokerd at {} has not answered for {} s: is it stopped, or is the machine busy? \
                 Waiting on",
                self.path.display(),
                SAY.as_secs()
            ))),
        }
    }

    fn wait(&mut self, until: Option<Instant>) -> Result<(), Error> {
        let whole = self.partial.map(|since| since + REPLY);
        if whole.is_some_and(|whole| Instant::now() >= whole) {
            return Err(self.broken("the rest of a frame did not come"));
        }
        let until = until.into_iter().chain(whole).chain(self.pulse.due()).min();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut sockets = vec![PollFd::new(&self.link.socket, PollFlags::IN)];
        sockets.extend(self.quit.iter().map(|quit| PollFd::new(&quit.heard, PollFlags::IN)));
        match poll(&mut sockets, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(self.end(Error::Disconnected(system(errno)))),
        }
    }

    /// Read what the socket has. False: nothing.
    fn read_some(&mut self) -> Result<bool, Error> {
        let mut room = [0; 16_384];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let got = recvmsg(
            self.link.socket.as_fd(),
            &mut [IoSliceMut::new(&mut room)],
            &mut control,
            flags,
        );
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = part {
                self.descriptors.extend(fds);
            }
        }
        let got = match got {
            Ok(got) => got,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(false),
            Err(errno) => {
                self.end(Error::Disconnected(system(errno)));
                return Ok(false);
            }
        };
        let cut = got.flags.contains(ReturnFlags::CTRUNC);
        if cut || self.descriptors.len() > DESCRIPTORS_MAX {
            return Err(self.broken("unexpected descriptors"));
        }
        if got.bytes == 0 {
            self.end(Error::Disconnected("stokerd closed the connection".into()));
            return Ok(false);
        }
        self.data.extend(&room[..got.bytes]);
        self.take_frames().map_err(|error| self.end(error))?;
        Ok(true)
    }

    fn take_frames(&mut self) -> Result<(), Error> {
        let mut at = 0;
        while let Some(size) = message::frame_size(&self.data[at..])? {
            let Some(payload) = self.data.get(at + 4..at + 4 + size) else { break };
            let message = message::decode(payload)?;
            at += 4 + size;
            self.put(message)?;
        }
        self.data.drain(..at);
        self.partial = match self.data.is_empty() {
            true => None,
            false if at > 0 => Some(Instant::now()),
            false => self.partial.or(Some(Instant::now())),
        };
        if self.data.is_empty() && !self.descriptors.is_empty() {
            return Err(Error::Protocol("unexpected descriptors".into()));
        }
        Ok(())
    }

    fn put(&mut self, mut message: Message) -> Result<(), Error> {
        if message.name == "error" && message.uint("code") <= ENDING_CODE {
            return Err(Error::of(&message));
        }
        if matches!(message.name, "attached" | "ring") {
            message.ring = Some(Arc::new(self.ring_of(&message)?));
        }
        if message.name == "producer" {
            let fd = self.descriptors.pop_front();
            let fd = fd.ok_or_else(|| Error::Protocol("the announced tray is missing".into()))?;
            message.tray = Some(Tray::map(fd, message.uint("bytes")).map_err(Error::Protocol)?);
        }
        if self.pulse.takes(&message) {
            return Ok(());
        }
        if self.inbox.len() >= INBOX_MAX {
            return Err(Error::Protocol("too many messages at a time".into()));
        }
        self.inbox.push_back(message);
        Ok(())
    }

    /// A descriptor comes with the first byte of its message, so they are in the order of messages.
    fn ring_of(&mut self, message: &Message) -> Result<Ring, Error> {
        let fd = match message.bytes("transport") {
            b"fd" => self.descriptors.pop_front(),
            _ => None,
        };
        let fd = fd.ok_or_else(|| Error::Protocol("the announced ring is missing".into()))?;
        Ring::map(fd, message.uint("bytes"), message.uint("ring")).map_err(Error::Protocol)
    }

    /// Give back what was announced and not taken: leases outlive the reader.
    pub fn forget(&mut self) {
        for message in std::mem::take(&mut self.inbox) {
            match message.name {
                "batch" => self.link.release(message.uint("lease")),
                "goaway" => self.inbox.push_back(message),
                _ => {}
            }
        }
    }

    /// Close because of this; the first reason counts. What violates the protocol makes what came
    /// before doubtful, too.
    fn end(&mut self, error: Error) -> Error {
        if self.ended.is_none() {
            self.fatal = !matches!(error, Error::Disconnected(_) | Error::Timeout(_));
            self.ended = Some(error.clone());
        }
        self.link.close();
        error
    }

    pub fn broken(&mut self, what: &str) -> Error {
        self.fatal = true;
        let error = Error::Protocol(what.into());
        self.ended = Some(error.clone());
        self.link.close();
        error
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.link.close();
    }
}
