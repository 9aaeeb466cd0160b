//! The server under test: started on a port that the system chooses, ended when it is dropped.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::unusable;
use crate::cli::Error;

/// How long the server may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that runs.
pub(super) struct Served {
    child: std::cell::RefCell<Child>,
    pub(super) url: String,
}

impl Served {
    /// Starts the server. It writes its URL as its first line; what it says on standard error is kept in `folder`.
    pub(super) fn start(program: &Path, options: &[&str], folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(|error| unusable(folder, &error))?;
        let log = folder.join("server.log");
        let errors = File::create(&log).map_err(|error| unusable(&log, &error))?;
        let mut child = Command::new(program)
            .args(["--http", "127.0.0.1:0"])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(|error| unusable(program, &error))?;
        let output = child.stdout.take();
        let mut served = Self { child: std::cell::RefCell::new(child), url: String::new() };
        let (told, heard) = mpsc::channel();
        std::thread::spawn(move || {
            // Reads on to the end, so that the server never writes into a closed pipe.
            for line in output.map(BufReader::new).into_iter().flat_map(BufRead::lines).map_while(Result::ok) {
                let _ = told.send(line);
            }
        });
        match heard.recv_timeout(PATIENCE) {
            Ok(line) if line.starts_with("http://") => served.url = line,
            _ => return Err(Error::failed(format!("the server did not say its URL: see {}", log.display()))),
        }
        println!("  $ {} --http 127.0.0.1:0 {}   at {}", program.display(), options.join(" "), served.url);
        Ok(served)
    }

    /// Fails if the server has ended by itself.
    pub(super) fn still_runs(&self) -> Result<(), Error> {
        match self.child.borrow_mut().try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(Error::failed(format!("the server has ended ({status})"))),
            Err(error) => Err(Error::failed(format!("the server cannot be asked whether it runs: {error}"))),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let child = self.child.get_mut();
        // Both fail only when it has ended already.
        let _ = child.kill();
        let _ = child.wait();
    }
}
