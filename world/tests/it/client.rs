//! A plain HTTP/1.1 client over a socket: one request a connection.

use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use world::Served;

/// An answer as it came over the wire.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Sends a request as it is written and reads to the end of the connection.
pub async fn exchange(served: &Served, request: &str) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(served.api_url().trim_start_matches("http://")).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    let answer = Answer {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    };
    let promised = answer
        .header("content-length")
        .and_then(|length| length.parse::<usize>().ok());
    if promised.is_some_and(|length| length != body.len()) {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(answer)
}

fn request(served: &Served, method: &str, path: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: world\r\nuser-agent: test\r\nauthorization: Bearer {}\r\n\
         connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        served.token(),
        body.len(),
    )
}

pub async fn get(served: &Served, path: &str) -> io::Result<Answer> {
    exchange(served, &request(served, "GET", path, "")).await
}

pub async fn post(served: &Served, body: &Value) -> io::Result<Answer> {
    exchange(served, &request(served, "POST", "/graphql", &body.to_string())).await
}

/// The answer to a document, which is expected to be 200 and JSON.
pub async fn query(served: &Served, document: &str, variables: Value) -> Value {
    let body = json!({ "query": document, "variables": variables });
    let answer = post(served, &body).await.expect("no fault is switched on");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}
