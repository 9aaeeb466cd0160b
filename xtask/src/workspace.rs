//! Where the workspace is, and what is in it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::Error;

/// The folders that hold no source of ours.
const FOREIGN: &[&str] = &["target", "node_modules", "__pycache__"];

/// The root folder of the workspace; all paths of this program are relative to it.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The parent of this package's folder. `cargo run` tells the folder at run time, so a moved tree is found too.
    pub(crate) fn find() -> Result<Self, Error> {
        let package =
            env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        match package.parent() {
            Some(root) if root.join("Cargo.toml").is_file() => Ok(Self { root: root.to_owned() }),
            _ => Err(Error::failed("the workspace was not found: run this as `cargo xtask`")),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    pub(crate) fn has(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }

    pub(crate) fn read(&self, relative: &str) -> Result<String, Error> {
        fs::read_to_string(self.path(relative))
            .map_err(|error| Error::failed(format!("`{relative}` cannot be read: {error}")))
    }

    pub(crate) fn write(&self, relative: &str, text: &str) -> Result<(), Error> {
        fs::write(self.path(relative), text)
            .map_err(|error| Error::failed(format!("`{relative}` cannot be written: {error}")))
    }

    /// Files below `folder` with one of the extensions, as sorted paths relative to the root with `/` between parts.
    /// Hidden folders, build output and installed packages are left out. A folder that does not exist holds none.
    pub(crate) fn files(&self, folder: &str, extensions: &[&str]) -> Vec<String> {
        let mut found = Vec::new();
        self.collect(&self.path(folder), extensions, &mut found);
        found.sort();
        found
    }

    fn collect(&self, folder: &Path, extensions: &[&str], found: &mut Vec<String>) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
                    self.collect(&path, extensions, found);
                }
                continue;
            }
            let wanted = path.extension().is_some_and(|end| extensions.iter().any(|want| end == *want));
            if let (true, Ok(relative)) = (wanted, path.strip_prefix(&self.root)) {
                found.push(relative.to_string_lossy().replace('\\', "/"));
            }
        }
    }

    /// Names of the folders directly below `folder`, sorted.
    pub(crate) fn folders(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(folder)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| !name.starts_with('.') && !FOREIGN.contains(&name.as_str()))
            .collect();
        names.sort();
        names
    }

    /// How many entries a folder has.
    pub(crate) fn count(&self, folder: &str) -> usize {
        fs::read_dir(self.path(folder)).map_or(0, |entries| entries.flatten().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_from_the_root() {
        let workspace = Workspace::find().unwrap();
        let all = workspace.files(".", &["rs"]);
        assert!(all.contains(&"xtask/src/workspace.rs".to_owned()));
        assert!(!all.iter().any(|path| path.starts_with('.') || path.starts_with("target/")));
        assert_eq!(workspace.files("xtask/nowhere", &["rs"]), Vec::<String>::new());
        assert!(workspace.folders("xtask").contains(&"src".to_owned()));
    }
}
