// SPDX-License-Identifier: MIT
//! The conformance program of the Rust client: docs/LANGUAGES.md has its command line and its
//! output.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::BufRead;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use stoker::{
    Array, Batch, Call, Client, Credentials, Dataset, Error, Options, Picture, Place, Producer,
    Reader, Record, Sample, Secret, Value,
};

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let request: Json = match arguments[..] {
        [_, ref text] => serde_json::from_slice(text.as_bytes()).expect("a request"),
        _ => panic!("SOCKET REQUEST"),
    };
    let done = match request.get("produce") {
        Some(wish) => produce(&arguments[0], &request, wish),
        None => Program::new(&arguments[0], request).and_then(|mut program| program.run()),
    };
    if let Err(error) = done {
        println!("error name={} text={}", error.name(), hex(error.to_string().as_bytes()));
        std::process::exit(1);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn names(texts: &[OsString]) -> String {
    texts.iter().map(|text| hex(text.as_bytes())).collect::<Vec<_>>().join(",")
}

fn number(json: &Json) -> u64 {
    match json.get("uint").and_then(Json::as_str) {
        Some(digits) => digits.parse().expect("digits"),
        None => json.as_u64().unwrap_or(0),
    }
}

fn text(json: &Json) -> OsString {
    let Some(digits) = json.get("hex").and_then(Json::as_str) else {
        return json.as_str().unwrap_or("").into();
    };
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    OsString::from_vec((0..digits.len()).step_by(2).map(byte).collect())
}

fn string(json: &Json) -> String {
    text(json).into_string().expect("UTF-8")
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(digits) => match (digits.as_u64(), digits.as_i64()) {
            (Some(whole), _) => Value::Uint(whole),
            (_, Some(whole)) => Value::Int(whole),
            _ => Value::Float(digits.as_f64().expect("a number")),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::List(items.iter().map(value).collect()),
        Json::Object(_) => call(json).into(),
    }
}

fn call(json: &Json) -> Call {
    let parameters = json.as_object().expect("a map").iter().filter(|(key, _)| *key != "name");
    parameters
        .fold(Call::new(&string(&json["name"])), |call, (key, item)| call.with(key, value(item)))
}

fn dataset(json: &Json) -> Dataset {
    let mut out = Dataset::default();
    for (key, item) in json.as_object().expect("a map") {
        match key.as_str() {
            "path" => out.path = text(item).into(),
            "kind" => out.kind = string(item),
            "root" => out.root = text(item).into(),
            "format" => out.format = string(item),
            "path_column" => out.path_column = string(item),
            "label_column" => out.label_column = string(item),
            "images" => out.images = string(item),
            "labels" => out.labels = string(item),
            "split" => out.split = string(item),
            "image" => out.image = string(item),
            "label" => out.label = string(item),
            "classes" => out.classes = string(item),
            "components" => out.components = string(item),
            "missing_component" => out.missing_component = string(item),
            "code" => out.code = string(item),
            "samples" => out.samples = string(item),
            "arrays" => out.arrays = string(item),
            "parts" => out.parts = item.as_array().expect("parts").iter().map(dataset).collect(),
            other => panic!("a dataset has no {other}"),
        }
    }
    out
}

fn options(json: &Json) -> Result<Options, Error> {
    let mut out = Options::default();
    for (key, item) in json.as_object().expect("a map") {
        let (whole, truth) = (number(item), item.as_bool().unwrap_or(false));
        let list = || item.as_array().expect("a list").iter();
        match key.as_str() {
            "dataset" => out.dataset = dataset(item),
            "transforms" => out.transforms = list().map(call).collect(),
            "sampler" => out.sampler = Some(call(item)),
            "fields" => out.fields = Some(list().map(string).collect()),
            "dtype" => out.dtype = string(item).parse()?,
            "layout" => out.layout = string(item).parse()?,
            "shuffle" => out.shuffle = truth,
            "order_seed" => out.order_seed = whole,
            "augment_seed" => out.augment_seed = whole,
            "subset_start" => out.subset_start = whole,
            "subset_stop" => out.subset_stop = whole,
            "bad_samples" => out.bad_samples = string(item).parse()?,
            "exif_orientation" => out.exif_orientation = truth,
            "job" => out.job = string(item),
            "rank" => out.rank = whole as u32,
            "world" => out.world = whole as u32,
            "batch_size" => out.batch_size = whole as u32,
            "last_batch" => out.last_batch = string(item).parse()?,
            "epoch" => out.epoch = whole as u32,
            "position" => out.position = whole,
            "epochs" => out.epochs = whole as u32,
            "inflight" => out.inflight = whole as u32,
            "prefetch" => out.prefetch = whole as u32,
            "start" => out.start = string(item).parse()?,
            "pace" => out.pace = string(item).parse()?,
            "priority" => out.priority = whole as u32,
            "draft" => out.draft = truth,
            "one_hot" => out.one_hot = truth,
            "echo" => out.echo = whole as u32,
            "echo_window" => out.echo_window = whole as u32,
            "views" => out.views = whole as u32,
            "order" => out.order = string(item).parse()?,
            "resize" => out.resize = Some(string(item).parse()?),
            "window" => out.window = whole as u32,
            "secret" => out.secret = Some(text(item).as_bytes().try_into()?),
            other => return Err(Error::Option(format!("there is no {other}"))),
        }
    }
    Ok(out)
}

/// Of the samples in order, of each all fields.
fn digest(batch: &Batch) -> Result<String, Error> {
    let fields: Result<Vec<_>, Error> =
        batch.fields().iter().map(|field| Ok((field, batch.bytes(&field.name)?))).collect();
    let fields = fields?;
    let mut digest = Sha256::new();
    let mut sample = 0;
    for run in 0..fields[0].1.len() {
        for i in 0..fields[0].1[run].len() / fields[0].0.bytes {
            for (field, runs) in &fields {
                if field.ragged {
                    let (numbers, shape) = batch.item(&field.name, sample)?;
                    shape.iter().for_each(|edge| digest.update((*edge as u64).to_ne_bytes()));
                    digest.update(numbers);
                } else {
                    digest.update(&runs[run][i * field.bytes..(i + 1) * field.bytes]);
                }
            }
            sample += 1;
        }
    }
    Ok(hex(&digest.finalize()))
}

fn credentials(json: &Json) -> Vec<Credentials> {
    let one = |one: &Json| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        Credentials {
            url: text("url"),
            key: text("key"),
            secret: text("secret"),
            token: text("token"),
            expires: one["expires"].as_u64().map(|at| UNIX_EPOCH + Duration::from_secs(at)),
        }
    };
    json.as_array().into_iter().flatten().map(one).collect()
}

struct Program {
    request: Json,
    reader: Reader,
    held: VecDeque<(Batch, String)>,
    taken: u64,
}

impl Program {
    fn new(socket: &OsString, request: Json) -> Result<Program, Error> {
        let mut options = options(&request["attach"])?;
        if let Some(token) = request.get("token") {
            options.token = Some(serde_json::from_value(token.clone()).expect("a token"));
        }
        let mut client = Client::default();
        if !socket.is_empty() {
            client.socket = Some(socket.into());
        }
        if let Some(wait) = request.get("reconnect_ms") {
            client.reconnect = Duration::from_millis(number(wait));
        }
        client.credentials = credentials(&request["credentials"]);
        let reader = match request.get("attach_timeout_ms") {
            Some(limit) => client.attach_within(options, Duration::from_millis(number(limit)))?,
            None => client.attach(options)?,
        };
        Ok(Program { request, reader, held: VecDeque::new(), taken: 0 })
    }

    fn asked(&self, key: &str) -> u64 {
        number(&self.request[key])
    }

    fn run(&mut self) -> Result<(), Error> {
        self.attached()?;
        if self.request["measure"] == true {
            return self.measure();
        }
        self.read(self.asked("take"))?;
        if self.request["again"] == true {
            self.reader.seek(self.reader.place())?;
            self.taken = 0;
            self.attached()?;
            self.read(0)?;
        }
        Ok(())
    }

    fn attached(&mut self) -> Result<(), Error> {
        let [dataset, pipeline, sampling] = self.reader.hashes();
        let shape =
            |shape: &[usize]| shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let fields: Vec<String> = (self.reader.fields().iter())
            .map(|field| format!("{}:{}:{}", field.name, field.dtype, shape(&field.shape)))
            .collect();
        println!(
            "attached samples={} batches={} dataset={} pipeline={} sampling={} fields={}",
            self.reader.samples(),
            self.reader.batches(),
            dataset,
            pipeline,
            sampling,
            fields.join(",")
        );
        if self.request["classes"] == true {
            println!("classes names={}", names(&self.reader.classes()?));
        }
        if let Some(indices) = self.request["paths"].as_array() {
            let indices: Vec<u64> = indices.iter().map(number).collect();
            println!("paths names={}", names(&self.reader.paths(&indices)?));
        }
        Ok(())
    }

    /// Give one back, after a look at whether it is as it was.
    fn let_go(&mut self, at: usize) -> Result<(), Error> {
        if let Some((batch, before)) = self.held.remove(at) {
            if digest(&batch)? != before {
                println!("changed position={}", batch.position);
            }
        }
        Ok(())
    }

    fn have(&mut self, batch: Batch) -> Result<(), Error> {
        let sum = digest(&batch)?;
        println!(
            "batch epoch={} position={} count={} padded={} wrapped={} substituted={} \
             next_epoch={} next_position={} digest={sum}",
            batch.epoch,
            batch.position,
            batch.count,
            batch.padded,
            batch.wrapped,
            batch.substituted,
            batch.next.epoch,
            batch.next.position
        );
        self.held.push_back((batch, sum));
        self.taken += 1;
        let keep = self.asked("keep");
        while self.held.len() as u64 > keep + self.asked("hold") {
            self.let_go(keep as usize)?;
        }
        if self.taken == self.asked("pause") {
            println!("paused");
            let _ = std::io::stdin().lock().read_line(&mut String::new());
            if self.request["refresh"].is_array() {
                self.reader.set_credentials(credentials(&self.request["refresh"]))?;
            }
        }
        match self.request["credit"].as_array() {
            Some(credit) if self.taken == number(&credit[0]) => {
                self.reader.set_inflight(number(&credit[1]) as u32)
            }
            _ => Ok(()),
        }
    }

    fn next(&mut self) -> Result<Option<Batch>, Error> {
        match self.asked("timeout_ms") {
            0 => {
                let next = self.reader.next().transpose();
                if next
                    .as_ref()
                    .is_err_and(|error| !matches!(error, Error::Sample(_) | Error::Held(_)))
                {
                    assert!(self.reader.next().is_none(), "it goes on behind its last error");
                }
                next
            }
            wait => self.reader.next_within(Duration::from_millis(wait)),
        }
    }

    fn read(&mut self, take: u64) -> Result<(), Error> {
        let mut end = false;
        while !end && (take == 0 || self.taken < take) {
            match self.next() {
                Ok(Some(batch)) => self.have(batch)?,
                Ok(None) => end = true,
                Err(Error::Sample(bad)) => println!("bad name={} sample={}", bad.name, bad.sample),
                Err(error) => return Err(error),
            }
        }
        println!("token {}", serde_json::to_string(&self.reader.token()).expect("JSON"));
        while !self.held.is_empty() {
            self.let_go(0)?;
        }
        let word = if end { "end" } else { "left" };
        println!("{word} reconnects={}", self.reader.reconnects());
        Ok(())
    }

    /// What the lines of the standard input say.
    fn measure(&mut self) -> Result<(), Error> {
        for line in std::io::stdin().lines() {
            let line = line.expect("a line");
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            let numbers: Vec<u64> =
                rest.split_whitespace().map(|digits| digits.parse().expect("digits")).collect();
            match word {
                "read" => self.measure_read(numbers[0])?,
                "seek" => self.measure_seek(Place { epoch: numbers[0], position: numbers[1] })?,
                _ => println!("collected heap=0"),
            }
        }
        Ok(())
    }

    fn measure_read(&mut self, batches: u64) -> Result<(), Error> {
        let begun = Instant::now();
        let (mut samples, mut sum) = (0, 0);
        for _ in 0..batches {
            let batch = self.reader.next_batch()?.expect("an endless stream");
            samples += batch.count;
            sum += touch(&batch)?;
        }
        println!("measured ns={} samples={samples} sum={sum}", begun.elapsed().as_nanos());
        Ok(())
    }

    fn measure_seek(&mut self, place: Place) -> Result<(), Error> {
        let begun = Instant::now();
        if let Err(error) = self.reader.seek(place) {
            println!("refused name={}", error.name());
            return Ok(());
        }
        let batch = self.reader.next_batch()?.expect("an endless stream");
        let (taken, sum) = (begun.elapsed().as_nanos(), touch(&batch)?);
        println!("sought ns={taken} position={} sum={sum}", batch.position);
        Ok(())
    }
}

/// Read a batch: one byte of each cache line of its images.
fn touch(batch: &Batch) -> Result<u64, Error> {
    let images = batch.array::<u8>("image")?;
    Ok(images.chunks(64).map(|line| u64::from(line[0])).sum())
}

// Samples that docs/LANGUAGES.md has formulas of

fn produce(socket: &OsString, request: &Json, wish: &Json) -> Result<(), Error> {
    let options = options(&request["attach"])?;
    let secret = options.secret.unwrap_or_else(|| Secret::from([0; 16]));
    let count = wish["count"].as_u64().unwrap_or(1) as usize;
    let mut transforms = request["attach"]["transforms"].as_array().into_iter().flatten();
    let producer = match transforms.find(|transform| transform["name"] == "Map") {
        Some(map) => Producer::of_map(call(map), secret),
        None => Producer::new(options.dataset, secret),
    };
    let producer = Producer { count, ..producer };
    let client = Client { socket: Some(socket.into()), ..Client::default() };
    let wish = wish.clone();
    let producers = client.produce(producer, move |sample: &Sample| make(sample, &wish))?;
    let stop = producers.stopper();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        stop();
    });
    producers.join()?;
    println!("left");
    Ok(())
}

fn make(sample: &Sample, wish: &Json) -> Result<Record, String> {
    let Sample { index, epoch, position, seed, .. } = *sample;
    let chosen = |key: &str| wish[key].as_u64() == Some(index);
    if chosen("fails") {
        return Err(format!("no luck with {index}"));
    }
    let pixels = |count: u64| (0..count).map(|k| (31 * index + k) as u8).collect::<Vec<_>>();
    let (label, width, height) = ((index % 7) as i64, 8, 6);
    let place = Array::new(&[(seed + 1000 * epoch + position) as i64], &[]);
    if let Some(picture) = &sample.picture {
        return Ok(of_map(picture, place, chosen("wrong"), wish["gives"] == "negative"));
    }
    match wish["gives"].as_str() {
        Some("file") => {
            let bytes = [&b"P5\n8 6\n255\n"[..], &pixels(48)].concat();
            Ok(Record::File { label, bytes })
        }
        Some("picture") => Ok(Record::Rgb { label, width, height, pixels: pixels(3 * 48) }),
        _ => {
            let shape: &[usize] = if chosen("wrong") { &[3, 3] } else { &[2, 3] };
            let grid = |k| index as f32 + k as f32 / 2.0;
            let grid: Vec<f32> = (0..shape.iter().product::<usize>()).map(grid).collect();
            let rows = index % 3;
            let boxes: Vec<u16> = (0..2 * rows).map(|k| (index + k) as u16).collect();
            Ok(Record::Arrays(vec![
                Array::new(&grid, shape),
                place,
                Array::new(&boxes, &[rows as usize, 2]),
                Array::text(format!("sample {index}")),
            ]))
        }
    }
}

fn of_map(picture: &Picture, place: Array, wrong: bool, negative: bool) -> Record {
    let Picture { width, height, ref pixels } = *picture;
    if negative {
        let pixels = pixels.iter().map(|value| 255 - value).collect();
        return Record::Rgb { label: 0, width, height, pixels };
    }
    let row = |row: &[u8]| row.iter().map(|value| u64::from(*value)).sum();
    let sums: Vec<u64> = pixels.chunks(3 * width).map(row).collect();
    let place = if wrong { Array::new(&[0i64; 9], &[3, 3]) } else { place };
    Record::Arrays(vec![place, Array::new(&sums, &[height])])
}
