//! A small HTTP server in front of `git http-backend`.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use child::git::Remote;

use super::site::plain_git;

/// What a request was, and what is done about it.
pub type Judge = dyn Fn(&Request) -> Verdict + Send + Sync;

/// One request, its body apart.
#[derive(Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: String,
    headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// What happens to a request.
#[derive(Debug)]
pub enum Verdict {
    /// git answers it.
    Serve,
    /// git answers it, and the answer is lost: the connection is closed.
    LoseAnswer,
    /// This status, with these header lines.
    Say(&'static str, String),
}

pub struct Forge {
    port: u16,
    stopped: Arc<AtomicBool>,
}

impl Forge {
    pub fn start(remotes: PathBuf, judge: impl Fn(&Request) -> Verdict + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stopped = Arc::new(AtomicBool::new(false));
        let (stop, judge): (_, Arc<Judge>) = (Arc::clone(&stopped), Arc::new(judge));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (remotes, judge) = (remotes.clone(), Arc::clone(&judge));
                // A client that was killed breaks off: that is its affair.
                thread::spawn(move || answer(stream, &remotes, &*judge));
            }
        });
        Self { port, stopped }
    }

    pub fn base(&self) -> Remote {
        Remote::parse(&format!("http://127.0.0.1:{}", self.port)).unwrap()
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn answer(mut stream: TcpStream, remotes: &Path, judge: &Judge) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: Vec::new(),
    };
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => request.headers.push((name.to_owned(), value.to_owned())),
            None => break,
        }
    }
    if request.header("Expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = body(&request, &mut reader)?;
    let verdict = judge(&request);
    if let Verdict::Say(status, headers) = verdict {
        return write!(
            stream,
            "HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\nConnection: close\r\n\r\n"
        );
    }
    let said = backend(&request, body, remotes)?;
    if matches!(verdict, Verdict::LoseAnswer) {
        return Ok(());
    }
    let end = said
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap_or(said.len());
    let (head, body) = (
        String::from_utf8_lossy(&said[..end]),
        &said[(end + 4).min(said.len())..],
    );
    let status = head
        .lines()
        .find_map(|line| line.strip_prefix("Status: "))
        .unwrap_or("200 OK");
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)
}

fn body(request: &Request, reader: &mut impl std::io::BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if request.header("Transfer-Encoding").is_some() {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let size = u64::from_str_radix(line.trim_end(), 16).unwrap_or(0);
            reader.by_ref().take(size).read_to_end(&mut body)?;
            reader.read_line(&mut line)?;
            if size == 0 {
                return Ok(body);
            }
        }
    }
    let length = request
        .header("Content-Length")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    reader.take(length).read_to_end(&mut body)?;
    Ok(body)
}

fn backend(request: &Request, body: Vec<u8>, remotes: &Path) -> std::io::Result<Vec<u8>> {
    let header = |name: &str| request.header(name).unwrap_or_default().to_owned();
    let mut child = plain_git(remotes)
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", remotes)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", &request.path)
        .env("QUERY_STRING", &request.query)
        .env("REQUEST_METHOD", &request.method)
        .env("CONTENT_TYPE", header("Content-Type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("Content-Encoding"))
        .env("GIT_PROTOCOL", header("Git-Protocol"))
        .env("REMOTE_USER", "somebody")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut stdin = child.stdin.take().expect("it was piped");
    let feed = thread::spawn(move || stdin.write_all(&body));
    let output = child.wait_with_output()?;
    let _ = feed.join();
    Ok(output.stdout)
}
