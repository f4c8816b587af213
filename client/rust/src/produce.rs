// SPDX-License-Identifier: MIT
//! Producers: they make the samples of a dataset of kind `code`, or what a Map gives for each picture
//! (PROTOCOL.md, section 11). One thread and one connection for each. Knows no reader.

use std::collections::HashMap;
use std::fmt::Display;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{getpriority_process, setpriority_process};

use crate::connection::{Connection, Quit};
use crate::error::{plain, Error};
use crate::message::{self, Message};
use crate::msgpack::Value;
use crate::options::Call;
use crate::reader::{Client, FIRST_PAUSE, LAST_PAUSE, QUIET, REPLY};
use crate::record::{Declared, Record};
use crate::ring::{Picture, Tray};
use crate::secret::{self, Secret};
use crate::tables::Dataset;

const ALIGNMENT: usize = 64; // of records in the tray
const TELL: Duration = Duration::from_millis(50);
const TEXT_MOST: usize = 1024; // bytes, of a reason

/// What a producer is asked for. What its code draws at random must follow from seed, epoch and
/// position alone, as what is drawn from [`Sample::draw_seed`] does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sample {
    /// In the dataset.
    pub index: u64,
    /// Of the stream.
    pub epoch: u64,
    /// In the epoch.
    pub position: u64,
    /// `augment_seed` of the stream.
    pub seed: u64,
    /// What the transforms before the Map have made; None: there is no Map.
    pub picture: Option<Picture>,
}

impl Sample {
    /// 64 bits that are the same whenever this sample is made: to seed a generator with
    /// (`seed_from_u64` of the crate rand), or to draw from. SplitMix64 over seed, epoch, position.
    pub fn draw_seed(&self) -> u64 {
        [self.seed, self.epoch, self.position].into_iter().fold(0, |state: u64, number| {
            let mut mixed = (state ^ number).wrapping_add(0x9E37_79B9_7F4A_7C15);
            mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ mixed >> 31
        })
    }
}

/// Whose samples are made.
#[derive(Clone, Debug)]
pub struct Producer {
    /// As its readers have it. `code` is the identity of what the function does: change it when that
    /// changes. With `arrays` it gives [`Record::Arrays`], else a file or a picture.
    pub dataset: Dataset,
    /// In the stead of a dataset, as its readers have it among their transforms. The function then
    /// gets [`Sample::picture`], and gives a picture, whose label is not used, or with `arrays` of
    /// the Map [`Record::Arrays`].
    pub map: Option<Call>,
    /// Of its readers, too: see [`Secret::of_user`].
    pub secret: Secret,
    /// Samples that are made at the same time, by as many threads.
    pub count: usize,
    /// Of a sample, after which another producer tries; ten times that for the first one. None: that
    /// of the daemon.
    pub deadline: Option<Duration>,
}

impl Producer {
    /// One thread, with the daemon's deadline.
    pub fn new(dataset: Dataset, secret: Secret) -> Producer {
        Producer { dataset, map: None, secret, count: 1, deadline: None }
    }

    /// ... of a Map: `Call::new("Map").with("code", "negative 1")`.
    pub fn of_map(map: Call, secret: Secret) -> Producer {
        Producer { map: Some(map), ..Producer::new(Dataset::default(), secret) }
    }

    fn arrays(&self) -> &str {
        self.map.as_ref().map_or(&self.dataset.arrays, |map| map.text("arrays"))
    }

    fn request(&self) -> HashMap<&'static str, Value> {
        let path = self.dataset.path.to_string_lossy();
        let dataset = (&*self.dataset.code, path.strip_prefix("code:").unwrap_or(&path));
        let code = self.map.as_ref().map(|map| map.text("code"));
        let (code, name) = code.map_or(dataset, |code| (code, code));
        let deadline = self.deadline.map_or(0, |deadline| deadline.as_millis() as u64);
        HashMap::from([
            ("code", code.into()),
            ("secret", secret::sent(Some(&self.secret))),
            ("name", name.into()),
            ("deadline_ms", deadline.into()),
        ])
    }
}

/// Producers that run, until this is dropped: samples that are not made then are left to others.
#[must_use = "its producers end when it is dropped"]
pub struct Producers {
    quit: Arc<Quit>,
    threads: Vec<JoinHandle<Result<(), Error>>>,
}

impl Producers {
    /// Wait until one fails, which ends the others. Ok: what [`Producers::stopper`] gave was called.
    pub fn join(mut self) -> Result<(), Error> {
        self.end()
    }

    /// What ends them, from any thread: `join` returns when the samples that are being made are.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + 'static {
        let quit = Arc::clone(&self.quit);
        move || quit.say()
    }

    fn end(&mut self) -> Result<(), Error> {
        let mut out = Ok(());
        for thread in self.threads.drain(..) {
            let ended = thread.join().unwrap_or_else(|thrown| std::panic::resume_unwind(thrown));
            out = out.and(ended);
        }
        out
    }
}

impl Drop for Producers {
    fn drop(&mut self) {
        self.quit.say();
        let _ = self.end();
    }
}

impl std::fmt::Debug for Producers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Producers({})", self.threads.len())
    }
}

type Make = dyn Fn(&Sample) -> Result<Vec<Vec<u8>>, String> + Send + Sync;

impl Client {
    /// Make the samples of a dataset of kind `code`, or of a Map, in threads. An error of the
    /// function makes that sample bad, with its text, and so does a panic. If the daemon dies or is
    /// restarted, they wait for it, as a reader does.
    ///
    /// ```no_run
    /// use stoker::{Array, Client, Dataset, Error, Producer, Record, Sample, Secret};
    ///
    /// let waves = Dataset {
    ///     path: "code:waves".into(),
    ///     kind: "code".into(),
    ///     code: "waves 1".into(),
    ///     samples: "1000".into(),
    ///     arrays: "wave:float32:256 shift:int64:".into(),
    ///     ..Dataset::default()
    /// };
    /// let producer = Producer { count: 4, ..Producer::new(waves, Secret::of_user()?) };
    /// let producers = Client::default().produce(producer, |sample: &Sample| {
    ///     let shift = (sample.draw_seed() % 256) as i64;
    ///     let wave: Vec<f32> = (0..256).map(|i| ((i + shift) as f32).sin()).collect();
    ///     Ok::<_, Error>(Record::Arrays(vec![Array::new(&wave, &[256]), Array::new(&[shift], &[])]))
    /// })?;
    /// producers.join()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn produce<E: Display>(
        &self,
        producer: Producer,
        make: impl Fn(&Sample) -> Result<Record, E> + Send + Sync + 'static,
    ) -> Result<Producers, Error> {
        let declared = Declared::all(producer.arrays())?;
        let request = producer.request();
        message::encode("produce", request.clone()).map_err(Error::Option)?;
        let make: Arc<Make> = Arc::new(move |sample: &Sample| {
            let made = catch_unwind(AssertUnwindSafe(|| make(sample)));
            match made {
                Ok(Ok(record)) if sample.picture.is_some() => record.parts_of_map(&declared),
                Ok(Ok(record)) => record.parts(&declared),
                Ok(Err(error)) => Err(error.to_string()),
                Err(thrown) => Err(format!("panic: {}", words_of(&*thrown))),
            }
        });
        let mut out = Producers { quit: Arc::new(Quit::new()?), threads: Vec::new() };
        for _ in 0..producer.count.max(1) {
            let quit = Arc::clone(&out.quit);
            let (client, request, make) = (self.clone(), request.clone(), Arc::clone(&make));
            let maps = producer.map.is_some();
            let mut one = Production::begin(client, request, make, maps, quit)?;
            out.threads.push(std::thread::spawn(move || one.run()));
        }
        Ok(out)
    }
}

fn words_of(thrown: &(dyn std::any::Any + Send)) -> &str {
    let text = thrown.downcast_ref::<&str>().copied();
    text.or_else(|| thrown.downcast_ref::<String>().map(String::as_str)).unwrap_or("of no text")
}

/// One producer of the daemon's.
struct Production {
    client: Client,
    request: HashMap<&'static str, Value>, // the PRODUCE
    make: Arc<Make>,
    maps: bool, // its samples are pictures of a Map
    quit: Arc<Quit>,
    connection: Connection,
    tray: Tray,
    nice: i32,
}

fn connect(
    client: &Client,
    request: &HashMap<&'static str, Value>,
    quit: &Arc<Quit>,
) -> Result<(Connection, Tray, i32), Error> {
    let mut connection = Connection::open(client.socket.as_deref(), &client.warn, None)?;
    let mut told = connection.request("produce", "producer", request.clone(), QUIET)?;
    let Some(tray) = told.tray.take() else {
        return Err(connection.broken("a PRODUCER without a tray"));
    };
    connection.quit = Some(Arc::clone(quit));
    Ok((connection, tray, told.uint("nice") as i32))
}

impl Production {
    fn begin(
        client: Client,
        request: HashMap<&'static str, Value>,
        make: Arc<Make>,
        maps: bool,
        quit: Arc<Quit>,
    ) -> Result<Production, Error> {
        let (connection, tray, nice) = connect(&client, &request, &quit)?;
        Ok(Production { client, request, make, maps, quit, connection, tray, nice })
    }

    /// Make samples for one daemon after the other; Ok: it is to end.
    fn run(&mut self) -> Result<(), Error> {
        let ended = loop {
            match self.serve() {
                Err(error) if error.passes() || error.name() == "timeout" => {
                    if let Err(error) = self.again(error) {
                        break Err(error);
                    }
                }
                ended => break ended,
            }
        };
        if let Err(error) = &ended {
            (self.client.warn)(&plain(&format!("a producer ends: {error}")));
        }
        self.quit.say(); // the others, too
        ended
    }

    /// Begin with a daemon that comes back.
    fn again(&mut self, away: Error) -> Result<(), Error> {
        let wait = self.client.reconnect;
        (self.client.warn)(&plain(&match away.name() {
            "timeout" => format!("a sample took too long, and another producer makes it: {away}"),
            _ => format!("{away}; a producer waits up to {wait:?} for the daemon to come back"),
        }));
        let (until, mut pause) = (Instant::now() + wait, FIRST_PAUSE);
        while !self.quit.said() {
            std::thread::sleep(pause);
            pause = (2 * pause).min(LAST_PAUSE);
            match connect(&self.client, &self.request, &self.quit) {
                Ok((connection, tray, nice)) => {
                    (self.connection, self.tray, self.nice) = (connection, tray, nice);
                    return Ok(());
                }
                Err(error) if !error.passes() => return Err(error),
                Err(_) if Instant::now() >= until => {
                    let text = format!("{away}; it did not come back within {wait:?}");
                    return Err(away.with_text(text));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Make what the daemon asks for, until the connection ends; Ok: this producer is to end.
    fn serve(&mut self) -> Result<(), Error> {
        if getpriority_process(None).is_ok_and(|now| now < self.nice) {
            let _ = setpriority_process(None, self.nice); // of this thread
        }
        while !self.quit.said() {
            let Some(mut message) = self.connection.receive(None)? else { continue };
            match message.name {
                "work" => self.work(&message)?,
                "producer" => match message.tray.take() {
                    Some(tray) => self.tray = tray, // a larger one in the stead of the one before
                    None => return Err(self.connection.broken("a PRODUCER without a tray")),
                },
                "goaway" => {} // readers finish what they hold; the end of the connection follows
                "error" => return Err(Error::of(&message)),
                other => return Err(self.connection.broken(&format!("{other} for a producer"))),
            }
        }
        // What it has is lent to others as it was, and no failure of the samples.
        self.connection.quit = None;
        let _ = self.connection.request("detach", "ok", HashMap::new(), REPLY);
        Ok(())
    }

    fn work(&mut self, message: &Message) -> Result<(), Error> {
        let (at, bytes) = (message.uint("offset"), message.uint("bytes"));
        let room = at.checked_add(bytes).filter(|end| *end <= self.tray.size() as u64);
        let (Some(end), Value::List(samples)) = (room, message.value("samples")) else {
            return Err(self
                .connection
                .broken("WORK with a part outside of the tray, or no samples"));
        };
        let mut group = Group {
            number: message.uint("group"),
            at: at as usize,
            end: end as usize,
            made: Vec::new(),
            told: Instant::now(),
        };
        for (place, item) in samples.iter().enumerate() {
            let Some(sample) = self.sample_of(item, message.uint("seed")) else {
                let text = "WORK with a sample of other numbers, or a picture outside of the tray";
                return Err(self.connection.broken(text));
            };
            let made = (self.make)(&sample);
            if self.quit.said() || !self.connection.look() {
                return Ok(()); // why is told by who waits for messages
            }
            match made {
                Ok(parts) => group.put(place, &parts, &mut self.tray, &self.connection)?,
                Err(text) => group.fail(place, &text, 0, &self.connection)?,
            }
        }
        group.tell(&self.connection)
    }

    /// None: it is none of this producer's, or its picture is outside of the tray.
    fn sample_of(&self, item: &Value, seed: u64) -> Option<Sample> {
        let Value::List(items) = item else { return None };
        let number = |item: &Value| match item {
            Value::Uint(number) => Some(*number),
            _ => None,
        };
        let numbers: Vec<u64> = items.iter().map(number).collect::<Option<_>>()?;
        let (index, epoch, position, picture) = match (self.maps, &numbers[..]) {
            (false, &[index, epoch, position]) => (index, epoch, position, None),
            (true, &[index, epoch, position, at, height, width]) => {
                (index, epoch, position, Some(self.tray.picture(at, height, width)?))
            }
            _ => return None,
        };
        Some(Sample { index, epoch, position, seed, picture })
    }
}

/// A group of samples, on their way into the tray.
struct Group {
    number: u64,
    at: usize, // of the tray, from here on there is room
    end: usize,
    made: Vec<Value>, // what is not told yet
    told: Instant,
}

impl Group {
    fn put(
        &mut self,
        place: usize,
        parts: &[Vec<u8>],
        tray: &mut Tray,
        connection: &Connection,
    ) -> Result<(), Error> {
        let size: usize = parts.iter().map(Vec::len).sum();
        let room = self.end - self.at;
        if size > room {
            let text = format!("the sample has {size} bytes, and its tray has room for {room}");
            return self.fail(place, &text, size as u64, connection);
        }
        let mut at = self.at;
        for part in parts {
            tray.put(at, part);
            at += part.len();
        }
        let told = [place as u64, self.at as u64, size as u64].map(Value::Uint);
        self.made.push(Value::List(told.into()));
        self.at = self.end.min(at.next_multiple_of(ALIGNMENT));
        match self.told.elapsed() < TELL {
            true => Ok(()),
            false => self.tell(connection),
        }
    }

    /// The daemon what was put since it was told last.
    fn tell(&mut self, connection: &Connection) -> Result<(), Error> {
        if self.made.is_empty() {
            return Ok(());
        }
        self.told = Instant::now();
        let made = Value::List(std::mem::take(&mut self.made));
        connection.send("made", HashMap::from([("group", self.number.into()), ("samples", made)]))
    }

    /// A sample cannot be made, or, with `needed`, does not fit here.
    fn fail(
        &mut self,
        place: usize,
        text: &str,
        needed: u64,
        connection: &Connection,
    ) -> Result<(), Error> {
        self.tell(connection)?;
        let text = String::from_utf8_lossy(&text.as_bytes()[..text.len().min(TEXT_MOST)]);
        let failed = [
            ("group", self.number.into()),
            ("sample", (place as u64).into()),
            ("text", text.into_owned().into()),
            ("needed", needed.into()),
        ];
        connection.send("failed", HashMap::from(failed))
    }
}

#[cfg(test)]
mod tests {
    use super::Sample;

    #[test]
    fn draws_follow_from_the_place() {
        let drawn = |index, epoch, position| {
            Sample { index, epoch, position, seed: 4, picture: None }.draw_seed()
        };
        assert_eq!(drawn(1, 2, 3), drawn(9, 2, 3));
        assert!(drawn(1, 2, 3) != drawn(1, 3, 3) && drawn(1, 2, 3) != drawn(1, 2, 2));
    }
}
