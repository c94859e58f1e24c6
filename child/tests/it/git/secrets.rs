//! Where a secret is while git works: nowhere that anybody can look.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use child::git::{
    Credentials, GitError, Helper, Keeper, Limits, Next, Pushed, Rebased, Remote, Secret, SecretFuture,
    answer_git,
};

use super::forge::{Forge, Request, Verdict};
use super::site::{Site, committer, files, pull};

const ASK: &str = "CHILD_TEST_ASK";
const OPERATION: &str = "CHILD_TEST_OPERATION";

/// Run by git, not by hand: this test program as a credential helper. The harness's own lines are filtered out.
#[test]
#[ignore = "the helper that the other tests have git start"]
fn the_helper() {
    let socket = PathBuf::from(std::env::var_os(ASK).unwrap());
    let operation = std::env::var(OPERATION).unwrap();
    // The harness has written half a line.
    println!();
    let _ = answer_git(&socket, &operation, io::stdin(), io::stdout());
}

pub fn helper() -> Helper {
    let script = format!(
        "{ASK}=\"$1\" {OPERATION}=\"$2\" \"$0\" --exact git::secrets::the_helper --ignored --nocapture 2>/dev/null \
         | grep -E '^(username|password|quit)='"
    );
    let this = std::env::current_exe().unwrap().into_os_string();
    Helper::new("/bin/sh", ["-c".into(), script.into(), this])
}

/// Gives one secret after the other, and looks around while git waits.
struct Source {
    secrets: Vec<&'static str>,
    asked: AtomicUsize,
    look: Box<dyn Fn() + Send + Sync>,
}

impl Source {
    fn of(secrets: &[&'static str], look: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            secrets: secrets.to_vec(),
            asked: AtomicUsize::new(0),
            look: Box::new(look),
        })
    }
}

impl Credentials for Source {
    fn secret<'a>(&'a self, _refused: Option<&'a Secret>) -> SecretFuture<'a> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst);
        (self.look)();
        let secret = self.secrets.get(turn.min(self.secrets.len().saturating_sub(1)));
        Box::pin(std::future::ready(match secret {
            Some(secret) => Ok(Secret::token(secret).unwrap()),
            None => Err("the keyring is locked".into()),
        }))
    }
}

/// `Basic` with this token, as HTTP writes it.
fn basic(token: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = format!("x-access-token:{token}");
    let mut encoded = String::from("Basic ");
    for three in text.as_bytes().chunks(3) {
        let number = three
            .iter()
            .fold(0u32, |number, byte| number << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for digit in 0..4 {
            match digit <= three.len() {
                true => encoded.push(DIGITS[(number >> (18 - 6 * digit)) as usize & 63] as char),
                false => encoded.push('='),
            }
        }
    }
    encoded
}

fn guarded(site: &Site, token: &'static str, look: impl Fn() + Send + Sync + 'static) -> Forge {
    Forge::start(site.remotes(), move |request: &Request| {
        match request.header("Authorization") {
            Some(given) if given == basic(token) => {
                look();
                Verdict::Serve
            }
            _ => Verdict::Say(
                "401 Unauthorized",
                "WWW-Authenticate: Basic realm=\"forge\"\r\n".to_owned(),
            ),
        }
    })
}

/// Fails where the secret, or the header made of it, is in an argument or an environment of any process, or in a file
/// below the root.
fn look_everywhere(secret: &str, root: &Path) {
    let needles = [secret.to_owned(), basic(secret)[6..].to_owned()];
    let found = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        needles.iter().any(|needle| text.contains(needle.as_str()))
    };
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        for file in ["cmdline", "environ"] {
            let bytes = fs::read(process.path().join(file)).unwrap_or_default();
            assert!(!found(&bytes), "in {:?}/{file}", process.path());
        }
    }
    for file in files(root) {
        // A socket cannot be read.
        assert!(!found(&fs::read(&file).unwrap_or_default()), "in {file:?}");
    }
}

const TOKEN: &str = "ghp_4Jd8QmT1vXs9LkRz";

#[tokio::test]
async fn a_secret_is_nowhere_to_be_seen() {
    let site = Site::new();
    site.pull_request();
    let looks = Arc::new(AtomicUsize::new(0));
    let look = {
        let (looks, root) = (Arc::clone(&looks), site.root());
        move || {
            look_everywhere(TOKEN, &root);
            looks.fetch_add(1, Ordering::SeqCst);
        }
    };
    let forge = guarded(&site, TOKEN, look.clone());
    // While the helper waits for its answer, and while the server has git's request in hand.
    let source = Source::of(&[TOKEN], look);
    let credentials: Arc<dyn Credentials> = Arc::<Source>::clone(&source);
    let open = Keeper::open(
        site.root(),
        forge.base(),
        Limits::default(),
        Some((helper(), credentials)),
    );
    let keeper = open.await.unwrap();
    let fetched = keeper.fetch(&pull()).await.unwrap();
    let Rebased::Clean(clean) = fetched.rebase(&committer()).await.unwrap() else {
        panic!("not clean")
    };
    let pushed = clean
        .push(&"o/r".parse().unwrap(), &"fix".parse().unwrap())
        .await
        .unwrap();
    assert_eq!(pushed, Pushed::Done);
    look_everywhere(TOKEN, &site.root());
    assert_eq!(
        source.asked.load(Ordering::SeqCst),
        2,
        "once for the fetch, once for the push"
    );
    assert!(looks.load(Ordering::SeqCst) >= 6);
    // No socket stays.
    let sockets = files(&site.root());
    assert!(
        sockets
            .iter()
            .all(|file| !file.file_name().unwrap().to_string_lossy().starts_with("ask-"))
    );
}

#[tokio::test]
async fn a_secret_that_was_renewed_is_asked_for_once_more() {
    let site = Site::new();
    site.pull_request();
    let forge = guarded(&site, TOKEN, || {});
    let source = Source::of(&["ghp_expired", TOKEN], || {});
    let credentials: Arc<dyn Credentials> = Arc::<Source>::clone(&source);
    let open = Keeper::open(
        site.root(),
        forge.base(),
        Limits::default(),
        Some((helper(), credentials)),
    );
    let keeper = open.await.unwrap();
    assert!(keeper.fetch(&pull()).await.is_ok());
    assert_eq!(source.asked.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn no_secret_and_a_wrong_one_are_told_apart() {
    let site = Site::new();
    let forge = guarded(&site, TOKEN, || {});
    let fails = async |credentials: Option<(Helper, Arc<dyn Credentials>)>| {
        let open = Keeper::open(site.root(), forge.base(), Limits::default(), credentials);
        let error = open.await.unwrap().fetch(&pull()).await.err().unwrap();
        assert_eq!(error.next(), Next::Wait, "{error:?}");
        error
    };
    let wrong: Arc<dyn Credentials> = Source::of(&["ghp_wrong"], || {});
    let error = fails(Some((helper(), wrong))).await;
    assert!(matches!(error, GitError::CredentialsRefused { .. }), "{error:?}");
    let none: Arc<dyn Credentials> = Source::of(&[], || {});
    let error = fails(Some((helper(), none))).await;
    assert!(
        matches!(&error, GitError::NoCredentials { source: Some(why), .. } if why.to_string() == "the keyring is locked"),
        "{error:?}"
    );
    let error = fails(None).await;
    assert!(
        matches!(error, GitError::NoCredentials { source: None, .. }),
        "{error:?}"
    );
}

/// A program of the same user that knows where the socket is gets nothing: it is not in git's process group.
#[tokio::test]
async fn a_stranger_at_the_socket_gets_nothing() {
    let site = Site::new();
    site.pull_request();
    let heard = Arc::new(Mutex::new(None));
    let forge = {
        let (heard, root) = (Arc::clone(&heard), site.root());
        guarded(&site, TOKEN, move || {
            let socket = files(&root)
                .into_iter()
                .find(|file| file.file_name().unwrap().to_string_lossy().starts_with("ask-"));
            let question = format!(
                "protocol=http\nhost=127.0.0.1:{}\n\n",
                PORT.load(Ordering::SeqCst)
            );
            let mut told = Vec::new();
            let asked = answer_git(&socket.unwrap(), "get", question.as_bytes(), &mut told);
            *heard.lock().unwrap() = Some((asked.is_ok(), told));
        })
    };
    PORT.store(usize::from(forge.port()), Ordering::SeqCst);
    let credentials: Arc<dyn Credentials> = Source::of(&[TOKEN], || {});
    let open = Keeper::open(
        site.root(),
        forge.base(),
        Limits::default(),
        Some((helper(), credentials)),
    );
    assert!(open.await.unwrap().fetch(&pull()).await.is_ok());
    let (_, told) = heard.lock().unwrap().take().expect("the stranger has asked");
    assert!(told.is_empty());
}

static PORT: AtomicUsize = AtomicUsize::new(0);

#[tokio::test]
async fn nobody_is_asked_for_a_remote_that_may_have_no_secret() {
    let site = Site::new();
    site.pull_request();
    let source = Source::of(&[TOKEN], || {});
    let credentials: Arc<dyn Credentials> = Arc::<Source>::clone(&source);
    let open = Keeper::open(
        site.root(),
        site.base(),
        Limits::default(),
        Some((helper(), credentials)),
    );
    assert!(open.await.unwrap().fetch(&pull()).await.is_ok());
    assert_eq!(source.asked.load(Ordering::SeqCst), 0);
    assert!(Remote::parse("https://x:y@github.com").is_err());
}
