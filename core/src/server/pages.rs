//! List pages and the answer to `server/discover`, written out once for each revision offered.
//!
//! A page is the text of a whole `result`: a request for it costs a look-up and a copy. Revisions whose pages
//! come out the same share them. Sources: `server/utilities/pagination`, `server/utilities/caching`,
//! `server/discover`.
//!
//! A cursor is a page number with a fingerprint of the list, so that a cursor of another list, or of this list
//! before it changed, is refused rather than read as a page of something else.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::api::List;
use super::capability;
use super::definition::Definition;
use crate::copy::{append, kept};
use crate::error::ErrorObject;
use crate::jsonrpc::{ObjectWriter, one_line};
use crate::model::{CacheHints, Shape, Tool};
use crate::spec::{Era, Version};

/// Every page of every list, by revision.
#[derive(Debug, Default)]
pub(super) struct Pages {
    lists: BTreeMap<(Version, List), ListPages>,
    discover: Option<Bytes>,
}

#[derive(Clone, Debug, PartialEq)]
struct ListPages {
    fingerprint: u32,
    pages: Vec<Bytes>,
}

impl Pages {
    pub(super) fn write(definition: &Definition) -> Self {
        let mut pages = Self::default();
        for version in definition.versions() {
            for list in [List::Tools, List::Prompts, List::Resources, List::Templates] {
                let written = ListPages::write(definition, *version, list);
                let shared = pages.lists.iter().find(|((_, l), p)| *l == list && **p == written);
                let written = shared.map_or(written, |(_, shared)| shared.clone());
                pages.lists.insert((*version, list), written);
            }
        }
        let modern = definition.versions_of(Era::Modern).next();
        pages.discover = modern.map(|version| discover(definition, version));
        pages
    }

    /// The result of a list request.
    pub(super) fn find(&self, version: Version, list: List, cursor: Option<&str>) -> Result<Bytes, ErrorObject> {
        let unknown = || ErrorObject::invalid_params("the cursor is not one that this list gave out");
        let pages = self.lists.get(&(version, list)).ok_or_else(ErrorObject::internal)?;
        let number = match cursor {
            None => 0,
            Some(cursor) => pages.page_of(cursor).ok_or_else(unknown)?,
        };
        pages.pages.get(number).cloned().ok_or_else(unknown)
    }

    /// The result of `server/discover`.
    pub(super) fn discover(&self) -> Option<Bytes> {
        self.discover.clone()
    }

    /// Whether a list reads the same in both.
    pub(super) fn same(&self, other: &Self, list: List) -> bool {
        let of = |pages: &Self| {
            pages.lists.iter().filter(|((_, l), _)| *l == list).map(|(_, p)| p.clone()).collect::<Vec<_>>()
        };
        of(self) == of(other)
    }
}

impl ListPages {
    fn write(definition: &Definition, version: Version, list: List) -> Self {
        let items = items(definition, version, list);
        let mut digest = Sha256::new();
        for item in &items {
            digest.update(item);
            digest.update([0]);
        }
        let digest = digest.finalize();
        let fingerprint = digest.iter().take(4).fold(0, |sum, byte| sum << 8 | u32::from(*byte));
        let mut pages: Vec<_> = items.chunks(definition.policy.page_size).collect();
        if pages.is_empty() {
            pages.push(&[]);
        }
        let last = pages.len() - 1;
        let pages = pages.iter().enumerate().map(|(number, items)| {
            let next = (number < last).then(|| format!("{fingerprint:08x}.{}", number + 1));
            kept(page(definition, version, list, items, next.as_deref()))
        });
        Self { fingerprint, pages: pages.collect() }
    }

    fn page_of(&self, cursor: &str) -> Option<usize> {
        let (fingerprint, number) = cursor.split_once('.')?;
        let same = u32::from_str_radix(fingerprint, 16) == Ok(self.fingerprint) && fingerprint.len() == 8;
        let number: usize = number.parse().ok()?;
        (same && number > 0).then_some(number)
    }
}

fn items(definition: &Definition, version: Version, list: List) -> Vec<Vec<u8>> {
    fn write<T: Serialize>(items: impl Iterator<Item = T>) -> Vec<Vec<u8>> {
        // Typed items always serialise.
        items.filter_map(|item| serde_json::to_vec(&item).ok()).collect()
    }
    let catalogue = &definition.catalogue;
    match list {
        List::Tools => write(catalogue.tools.iter().map(|entry| shaped(&entry.tool, version))),
        List::Prompts => write(catalogue.prompts.iter()),
        List::Resources => write(catalogue.resources.iter()),
        List::Templates => write(catalogue.templates.iter().map(|(template, _)| template)),
    }
}

fn shaped(tool: &Tool, version: Version) -> Tool {
    let mut tool = tool.clone();
    tool.shape(&Shape::of(version));
    tool
}

/// The member of a list result that holds the items.
pub(super) const fn member(list: List) -> &'static str {
    match list {
        List::Prompts => "prompts",
        List::Resources => "resources",
        List::Templates => "resourceTemplates",
        List::Tools => "tools",
    }
}

/// The hints of a list.
pub(super) const fn hints(definition: &Definition, list: List) -> CacheHints {
    match list {
        List::Prompts => definition.policy.cache.prompts,
        List::Resources => definition.policy.cache.resources,
        List::Templates => definition.policy.cache.templates,
        List::Tools => definition.policy.cache.tools,
    }
}

/// Writes one page, from items that are JSON already.
pub(super) fn page<T: AsRef<[u8]>>(
    definition: &Definition,
    version: Version,
    list: List,
    items: &[T],
    next_cursor: Option<&str>,
) -> Bytes {
    let size = items.iter().map(|item| item.as_ref().len() + 1).sum::<usize>();
    let mut out = Vec::with_capacity(size + definition.stamp.len() + 128);
    let mut object = ObjectWriter::new(&mut out);
    let array = object.key(member(list));
    array.push(b'[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            array.push(b',');
        }
        append(array, item.as_ref());
    }
    array.push(b']');
    if let Some(cursor) = next_cursor {
        object.string("nextCursor", cursor);
    }
    write_hints(&mut object, version, hints(definition, list));
    object.end();
    super::result::stamp_written(definition, version, &mut out);
    // Schemas are kept as they were written: on several lines, perhaps.
    one_line(&mut out);
    out.into()
}

/// Writes caching hints: always where the revision requires them, elsewhere only if they say anything.
pub(super) fn write_hints(object: &mut ObjectWriter<'_>, version: Version, hints: CacheHints) {
    if version.era() == Era::Modern || hints != CacheHints::default() {
        object.value("ttlMs", &hints.ttl_ms);
        object.string("cacheScope", hints.scope.as_str());
    }
}

fn discover(definition: &Definition, version: Version) -> Bytes {
    let mut out = Vec::new();
    let mut object = ObjectWriter::new(&mut out);
    // Modern revisions only: a client that probes takes any answer as proof of a modern server.
    let versions: Vec<_> = definition.versions_of(Era::Modern).map(Version::as_str).collect();
    object.value("supportedVersions", &versions);
    object.object("capabilities", |object| capability::write(&definition.features, version, object));
    if let Some(text) = &definition.policy.instructions {
        object.string("instructions", text);
    }
    write_hints(&mut object, version, definition.policy.cache.discover);
    object.end();
    super::result::stamp_written(definition, version, &mut out);
    one_line(&mut out);
    out.into()
}
