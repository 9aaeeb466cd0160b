//! Where a command is, on Windows.
//!
//! The loader of Windows only finds `.exe` files by a bare name; `npx`, `uvx` and their like are scripts (`npx.cmd`).
//! So a name is looked up as a shell does: in each folder of `PATH`, with each extension of `PATHEXT`. The standard
//! library runs scripts that are named in full, with arguments quoted for the command interpreter.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The extensions that Windows assumes where `PATHEXT` is not set.
const EXTENSIONS: &str = ".COM;.EXE;.BAT;.CMD";

/// Finds `program` in the folders of `path`, with the extensions of `PATHEXT`; `None` leaves it to the loader.
#[must_use]
pub fn resolve(
    program: &OsStr,
    path: &[PathBuf],
    extensions: Option<&OsStr>,
    is_file: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let extensions = extensions.unwrap_or_else(|| OsStr::new(EXTENSIONS)).to_string_lossy().into_owned();
    let extensions: Vec<&str> = extensions.split(';').filter(|extension| extension.starts_with('.')).collect();
    let program = Path::new(program);
    let named_in_full =
        program.extension().is_some_and(|own| extensions.iter().any(|known| own.eq_ignore_ascii_case(&known[1..])));
    let candidates = |folder: &Path| {
        let plain = folder.join(program);
        let bare = named_in_full.then(|| plain.clone());
        let extended = extensions.iter().map(move |extension| {
            let mut name = OsString::from(&plain);
            name.push(extension.to_ascii_lowercase());
            PathBuf::from(name)
        });
        bare.into_iter().chain(extended).find(|candidate| is_file(candidate))
    };
    let has_folder = program.components().count() > 1 || program.to_string_lossy().contains(['/', '\\', ':']);
    if has_folder {
        return candidates(Path::new(""));
    }
    path.iter().find_map(|folder| candidates(folder))
}

/// Finds `program` in this process's environment, or in another `PATH`.
#[cfg(windows)]
#[must_use]
pub fn find(program: &OsStr, path: Option<OsString>) -> OsString {
    let path = path.or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let extensions = std::env::var_os("PATHEXT");
    resolve(program, &folders, extensions.as_deref(), &|candidate| candidate.is_file())
        .map_or_else(|| program.to_owned(), PathBuf::into_os_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(program: &str, extensions: Option<&str>, files: &[&str]) -> Option<String> {
        let path = [PathBuf::from("first"), PathBuf::from("second")];
        let is_file = |candidate: &Path| files.contains(&candidate.to_string_lossy().replace('\\', "/").as_str());
        resolve(OsStr::new(program), &path, extensions.map(OsStr::new), &is_file)
            .map(|found| found.to_string_lossy().replace('\\', "/"))
    }

    #[test]
    fn scripts_are_found_by_their_bare_name() {
        assert_eq!(found("npx", None, &["second/npx.cmd"]).as_deref(), Some("second/npx.cmd"));
        assert_eq!(found("npx", None, &["second/npx", "second/npx.cmd"]).as_deref(), Some("second/npx.cmd"));
        assert_eq!(found("npx", None, &["second/npx"]), None);
    }

    #[test]
    fn folders_come_before_extensions_and_extensions_have_an_order() {
        assert_eq!(found("x", None, &["first/x.cmd", "second/x.exe"]).as_deref(), Some("first/x.cmd"));
        assert_eq!(found("x", None, &["first/x.cmd", "first/x.exe"]).as_deref(), Some("first/x.exe"));
        assert_eq!(found("x", Some(".CMD;.EXE"), &["first/x.cmd", "first/x.exe"]).as_deref(), Some("first/x.cmd"));
    }

    #[test]
    fn a_name_in_full_is_taken_as_it_is() {
        assert_eq!(found("npx.CMD", None, &["first/npx.CMD"]).as_deref(), Some("first/npx.CMD"));
        assert_eq!(
            found("tool.v2", None, &["first/tool.v2", "second/tool.v2.exe"]).as_deref(),
            Some("second/tool.v2.exe")
        );
    }

    #[test]
    fn a_path_is_not_searched_for() {
        assert_eq!(
            found("bin/server", None, &["bin/server.exe", "first/bin/server.exe"]).as_deref(),
            Some("bin/server.exe")
        );
        assert_eq!(found("./server", None, &["first/server.exe"]), None);
    }
}
