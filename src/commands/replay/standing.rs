//! How what a turn would write stands to what the home holds.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;

use mailbox::rotation;
use runtime::{HomePath, KeyedLine};

use super::compare::Stands;
use crate::transfer::reader::{Lines, Read};

/// A file that would be written whole.
pub fn file(home: &Path, path: &HomePath, bytes: &[u8]) -> Stands {
    let path = home.join(path.as_str());
    let there = fs::metadata(&path).and_then(|found| match found.len() == bytes.len() as u64 {
        true => fs::read(&path).map(|there| there == bytes),
        false => Ok(false),
    });
    match there {
        Ok(true) => Stands::Same,
        Ok(false) => Stands::Other,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Stands::Absent,
        Err(_) => Stands::Unknown,
    }
}

/// Lines that would be appended, to a file that may have been cut into pieces since.
pub fn lines(home: &Path, path: &HomePath, lines: &[KeyedLine]) -> Stands {
    let mut stand = vec![Stands::Absent; lines.len()];
    match look(&home.join(path.as_str()), lines, &mut stand) {
        Err(_) => Stands::Unknown,
        Ok(()) if stand.iter().all(|stands| *stands == Stands::Same) => Stands::Same,
        Ok(()) if stand.contains(&Stands::Absent) => Stands::Absent,
        Ok(()) => Stands::Other,
    }
}

fn look(path: &Path, lines: &[KeyedLine], stand: &mut [Stands]) -> io::Result<()> {
    let mut pieces = rotation::earlier(path)?;
    pieces.push(path.to_owned());
    for piece in pieces {
        let piece = match File::open(piece) {
            Ok(piece) => piece,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let mut there = Lines::of(BufReader::new(piece));
        while let Some((_, read)) = there.next()? {
            let Read::Line(read) = read else { continue };
            let read = String::from_utf8_lossy(read);
            for (line, stands) in lines.iter().zip(&mut *stand) {
                if read == line.line {
                    *stands = Stands::Same;
                } else if *stands == Stands::Absent && read.contains(&line.key) {
                    *stands = Stands::Other;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_written_is_held_against_what_is_there() {
        let home = tempfile::tempdir().unwrap();
        let path: HomePath = "log.jsonl".parse().unwrap();
        let keyed = |key: &str, line: &str| KeyedLine {
            key: key.to_owned(),
            line: line.to_owned(),
        };
        let two = [keyed("a", "a 1"), keyed("b", "b 1")];
        assert_eq!(lines(home.path(), &path, &two), Stands::Absent);
        assert_eq!(file(home.path(), &path, b"a 1\n"), Stands::Absent);
        let write = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
        write("log.jsonl", "a 1\n");
        assert_eq!(lines(home.path(), &path, &two), Stands::Absent);
        assert_eq!(lines(home.path(), &path, &two[..1]), Stands::Same);
        assert_eq!(file(home.path(), &path, b"a 1\n"), Stands::Same);
        assert_eq!(file(home.path(), &path, b"a 2\n"), Stands::Other);
        // An earlier piece counts too.
        write("log.jsonl.20260514T174500.000Z", "b 0\n");
        assert_eq!(lines(home.path(), &path, &two), Stands::Other);
        write("log.jsonl.20260514T174500.000Z", "b 1\n");
        assert_eq!(lines(home.path(), &path, &two), Stands::Same);
        fs::create_dir(home.path().join("folder")).unwrap();
        let folder: HomePath = "folder".parse().unwrap();
        assert_eq!(lines(home.path(), &folder, &two), Stands::Unknown);
    }
}
