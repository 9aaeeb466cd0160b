//! Who a peer is, and the icons that identify it and what it offers.
//!
//! Sources: `basic/index` (`icons`), schema `Implementation`, `Icon`. What a peer says about itself is for display
//! and logs. Icons are untrusted: [`Icon::check_src`] judges the scheme of the address; fetching without
//! credentials, refusing redirects, size bounds and the type of the bytes are the host's.

use super::macros::{object, open_enum};

object! {
    /// Name and version of a client or server, as it reports them.
    pub struct Implementation {
        required {
            /// The name for programs.
            name: String = "name",
            /// The version, in whatever scheme the peer uses.
            version: String = "version",
        }
        optional {
            /// The name for people.
            title: String = "title",
            /// What it does, for people.
            description: String = "description",
            /// A page about it.
            website_url: String = "websiteUrl",
            /// Pictures of it.
            icons: Vec<Icon> = "icons",
        }
    }
}

impl Implementation {
    /// Adds an icon.
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.icons.get_or_insert_default().push(icon);
        self
    }

    /// What to show to people: the title, or else the name.
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

object! {
    /// A picture of an implementation, tool, prompt or resource.
    pub struct Icon {
        required {
            /// Where the picture is: an `https:` or a `data:` URI. See [`Icon::check_src`].
            src: String = "src",
        }
        optional {
            /// The MIME type, where the server of the picture gives none or a generic one.
            mime_type: String = "mimeType",
            /// The sizes that the picture fits: `48x48`, or `any`.
            sizes: Vec<String> = "sizes",
            /// The background that the picture is made for.
            theme: IconTheme = "theme",
        }
    }
}

open_enum! {
    /// The background that an icon is made for.
    pub enum IconTheme {
        /// A dark background.
        Dark = "dark",
        /// A light background.
        Light = "light",
    }
}

/// The address of an icon has a scheme that must not be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an icon address must be an `https:` or `data:` URI")]
pub struct IconSrcError;

impl Icon {
    /// Whether the address may be used: only `https:` and `data:` URIs are. Producers warn, consumers reject.
    ///
    /// # Errors
    /// For every other scheme, for relative addresses, and for ones with leading white space or control
    /// characters, which browsers would drop.
    pub fn check_src(&self) -> Result<(), IconSrcError> {
        let (scheme, rest) = self.src.split_once(':').ok_or(IconSrcError)?;
        let https = scheme.eq_ignore_ascii_case("https") && has_host(rest);
        let data = scheme.eq_ignore_ascii_case("data") && rest.contains(',');
        if https || data { Ok(()) } else { Err(IconSrcError) }
    }
}

fn has_host(rest: &str) -> bool {
    rest.strip_prefix("//").is_some_and(|authority| !authority.starts_with(['/', '?', '#']) && !authority.is_empty())
}
