//! How wire types are written down once: members, reading, writing, construction.
//!
//! Serde's own `flatten`, `untagged` and internally tagged enums read through a buffer that loses raw JSON and
//! integers beyond 64 bits, so the types of this module are generated here instead.
//!
//! | macro | makes |
//! |---|---|
//! | [`object!`] | a struct for a JSON object; members it does not know land in `extra` |
//! | [`union!`] | an enum over such structs, told apart by one member; what it does not know is `Unknown` |
//! | [`open_enum!`] | an enum over strings; a string that it does not know is `Other` |
//!
//! ```text
//!   {"text":"hi","type":"text","x":1}          union! reads members until it meets the tag,
//!    └─ head ──┘ └─ tag ────┘ └ rest ┘         then feeds tag, head and rest to the struct's builder
//! ```
//!
//! Members of an [`object!`], by group:
//!
//! | group | Rust type | absent | `null` on reading |
//! |---|---|---|---|
//! | `tag` | none: a constant | error | error |
//! | `required` | `T`, an argument of `new` | error | as `T` says |
//! | `preset` | `T`, with a value in `new` | error | as `T` says |
//! | `defaulted` | `T`, empty in `new`, always written | `T::default()` | as `T` says |
//! | `optional` | `Option<T>` | `None` | `None` |
//! | `nullable` | `Option<Json>` | `None` | `Some(null)` |
//!
//! A known member that stands twice is an error; so is a known member of the wrong type.

pub(crate) use super::read::{
    Build, Object, Parts, Source, Tagged, TaggedVisitor, Text, check_tag, fill, fill_via, read_object, read_tagged,
};

/// A struct for a JSON object, with its constructor and setters. See the module's documentation.
macro_rules! object {
    ($($tokens:tt)*) => {
        $crate::model::macros::members! { $($tokens)* }
        $crate::model::macros::setters! { $($tokens)* }
    };
}

/// The struct of an [`object!`], with how it is read and written.
macro_rules! members {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $(tag $tag:literal = $tag_value:literal;)?
            required { $($(#[$rdoc:meta])* $r:ident: $rt:ty = $rw:literal,)* }
            $(preset { $($(#[$pdoc:meta])* $p:ident: $pt:ty = $pw:literal ($pv:expr),)* })?
            $(defaulted { $($(#[$ddoc:meta])* $d:ident: $dt:ty = $dw:literal $(via $dvia:ty)?,)* })?
            optional { $($(#[$odoc:meta])* $o:ident: $ot:ty = $ow:literal,)* }
            $(nullable { $($(#[$ndoc:meta])* $n:ident = $nw:literal,)* })?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        $vis struct $name {
            $($(#[$rdoc])* pub $r: $rt,)*
            $($($(#[$pdoc])* pub $p: $pt,)*)?
            $($($(#[$ddoc])* pub $d: $dt,)*)?
            $($(#[$odoc])* pub $o: Option<$ot>,)*
            $($($(#[$ndoc])* pub $n: Option<crate::json::Json>,)*)?
            /// Members that this type does not know, in the order they came.
            pub extra: $crate::model::Extra,
        }

        const _: () = {
            use std::borrow::Cow;

            use $crate::model::macros::{self, Build, Object, Source};

            pub(crate) struct Builder {
                $($r: Option<$rt>,)*
                $($($p: Option<$pt>,)*)?
                $($($d: Option<$dt>,)*)?
                $($o: Option<Option<$ot>>,)*
                $($($n: Option<crate::json::Json>,)*)?
                extra: $crate::model::Extra,
                $(tag: Option<macros::tag_type!($tag)>,)?
            }

            impl Default for Builder {
                fn default() -> Self {
                    Self {
                        $($r: None,)*
                        $($($p: None,)*)?
                        $($($d: None,)*)?
                        $($o: None,)*
                        $($($n: None,)*)?
                        extra: $crate::model::Extra::new(),
                        $(tag: macros::tag_none!($tag),)?
                    }
                }
            }

            impl Build for Builder {
                type Object = $name;

                fn member<'de, S: Source<'de>>(
                    &mut self,
                    key: Cow<'de, str>,
                    source: S,
                ) -> Result<(), S::Error> {
                    match &*key {
                        $($tag => macros::check_tag(&mut self.tag, $tag, $tag_value, source)?,)?
                        $($rw => macros::fill(&mut self.$r, $rw, source)?,)*
                        $($($pw => macros::fill(&mut self.$p, $pw, source)?,)*)?
                        $($($dw => macros::fill_member!(self.$d, $dw, source $(, $dvia)?)?,)*)?
                        $($ow => macros::fill(&mut self.$o, $ow, source)?,)*
                        $($($nw => macros::fill(&mut self.$n, $nw, source)?,)*)?
                        _ => self.extra.push(key.into_owned(), source.value()?),
                    }
                    Ok(())
                }

                $(fn tag(&mut self, tag: &str) -> bool {
                    let known = tag == $tag_value && self.tag.is_none();
                    if known {
                        self.tag = Some(macros::tag_unit!($tag));
                    }
                    known
                })?

                fn finish<E: serde::de::Error>(self) -> Result<$name, E> {
                    $(if self.tag.is_none() {
                        return Err(E::missing_field($tag));
                    })?
                    Ok($name {
                        $($r: self.$r.ok_or_else(|| E::missing_field($rw))?,)*
                        $($($p: self.$p.ok_or_else(|| E::missing_field($pw))?,)*)?
                        $($($d: self.$d.unwrap_or_default(),)*)?
                        $($o: self.$o.flatten(),)*
                        $($($n: self.$n,)*)?
                        extra: self.extra,
                    })
                }
            }

            impl Object for $name {
                type Builder = Builder;
                const NAME: &'static str = stringify!($name);

                #[inline]
                fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                    $(map.serialize_entry($tag, $tag_value)?;)?
                    $(map.serialize_entry($rw, &self.$r)?;)*
                    $($(map.serialize_entry($pw, &self.$p)?;)*)?
                    $($(map.serialize_entry($dw, &self.$d)?;)*)?
                    $(if let Some(value) = &self.$o {
                        map.serialize_entry($ow, value)?;
                    })*
                    $($(if let Some(value) = &self.$n {
                        map.serialize_entry($nw, value)?;
                    })*)?
                    self.extra.write(map)
                }
            }

            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    use serde::ser::SerializeMap as _;

                    let mut map = serializer.serialize_map(None)?;
                    Object::write(self, &mut map)?;
                    map.end()
                }
            }

            impl<'de> serde::Deserialize<'de> for $name {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    macros::read_object(deserializer)
                }
            }
        };
    };
}

/// The constructor and setters of an [`object!`].
macro_rules! setters {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $(tag $tag:literal = $tag_value:literal;)?
            required { $($(#[$rdoc:meta])* $r:ident: $rt:ty = $rw:literal,)* }
            $(preset { $($(#[$pdoc:meta])* $p:ident: $pt:ty = $pw:literal ($pv:expr),)* })?
            $(defaulted { $($(#[$ddoc:meta])* $d:ident: $dt:ty = $dw:literal $(via $dvia:ty)?,)* })?
            optional { $($(#[$odoc:meta])* $o:ident: $ot:ty = $ow:literal,)* }
            $(nullable { $($(#[$ndoc:meta])* $n:ident = $nw:literal,)* })?
        }
    ) => {
        impl $name {
            /// A value with its required members; every other one is absent.
            #[must_use]
            pub fn new($($r: impl Into<$rt>),*) -> Self {
                Self {
                    $($r: $r.into(),)*
                    $($($p: $pv,)*)?
                    $($($d: Default::default(),)*)?
                    $($o: None,)*
                    $($($n: None,)*)?
                    extra: $crate::model::Extra::new(),
                }
            }

            $($(
                $(#[$pdoc])*
                #[must_use]
                pub fn $p(mut self, $p: impl Into<$pt>) -> Self {
                    self.$p = $p.into();
                    self
                }
            )*)?

            $($(
                $(#[$ddoc])*
                #[must_use]
                pub fn $d(mut self, $d: impl Into<$dt>) -> Self {
                    self.$d = $d.into();
                    self
                }
            )*)?

            $(
                $(#[$odoc])*
                #[must_use]
                pub fn $o(mut self, $o: impl Into<$ot>) -> Self {
                    self.$o = Some($o.into());
                    self
                }
            )*

            $($(
                $(#[$ndoc])*
                ///
                /// `null` is a value here, and not the same as absence.
                #[must_use]
                pub fn $n(mut self, $n: impl Into<crate::json::Json>) -> Self {
                    self.$n = Some($n.into());
                    self
                }
            )*)?
        }

        $crate::model::macros::default_of! { $name $($r)* }
    };
}

/// `Default` for an [`object!`] without required members.
macro_rules! default_of {
    ($name:ident) => {
        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }
    };
    ($name:ident $($required:ident)+) => {};
}

/// The type of the builder's note that the tag was seen. The argument only drives the repetition.
macro_rules! tag_type {
    ($tag:literal) => {
        ()
    };
}

/// The note itself.
macro_rules! tag_unit {
    ($tag:literal) => {
        ()
    };
}

/// The start value of that note.
macro_rules! tag_none {
    ($tag:literal) => {
        None
    };
}

/// Fills a member, directly or by way of another type.
macro_rules! fill_member {
    ($slot:expr, $name:literal, $source:expr) => {
        $crate::model::macros::fill(&mut $slot, $name, $source)
    };
    ($slot:expr, $name:literal, $source:expr, $via:ty) => {
        $crate::model::macros::fill_via::<_, $via, _>(&mut $slot, $name, $source)
    };
}

/// An enum over objects, told apart by one member. See the module's documentation.
macro_rules! union {
    (
        $(#[$meta:meta])*
        pub enum $name:ident by $tag:literal {
            $($(#[$vdoc:meta])* $variant:ident($inner:ty $(, in $held:ident)?) = $value:literal,)*
        }
        absent => $absent:ident
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* $variant($crate::model::macros::held!($inner $(, $held)?)),)*
            /// A kind that this crate does not know, as it came.
            Unknown(crate::json::Json),
        }

        impl $crate::model::macros::Tagged for $name {
            const NAME: &'static str = stringify!($name);
            const TAG: &'static str = $tag;

            fn resume<'de, A: serde::de::MapAccess<'de>>(
                parts: $crate::model::macros::Parts<'de, A>,
            ) -> Result<Self, A::Error> {
                match parts.tag.as_deref() {
                    $(Some($value) => parts.into_object::<$inner>().map(Self::from),)*
                    None => $crate::model::macros::absent_tag!($absent, parts),
                    Some(_) => parts.into_json().map(Self::Unknown),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(inner) => inner.serialize(serializer),)*
                    Self::Unknown(json) => json.serialize(serializer),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::model::macros::read_tagged(deserializer)
            }
        }

        $(impl From<$inner> for $name {
            fn from(inner: $inner) -> Self {
                Self::$variant(inner.into())
            }
        })*
    };
}

/// The type that a [`union!`] holds for an object: a large one that is rare stands elsewhere.
macro_rules! held {
    ($inner:ty) => {
        $inner
    };
    ($inner:ty, $held:ident) => {
        $held<$inner>
    };
}

/// What a [`union!`] makes of an object without a tag.
macro_rules! absent_tag {
    (Unknown, $parts:expr) => {
        $parts.into_json().map(Self::Unknown)
    };
    ($variant:ident, $parts:expr) => {
        $parts.into_object().map(Self::$variant)
    };
}

/// An enum over strings that other strings survive. See the module's documentation.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$vdoc:meta])* $variant:ident = $value:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A value that this crate does not know, as it came.
            Other(Box<str>),
        }

        impl $name {
            /// The value on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $value,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($value => Self::$variant,)*
                    _ => Self::Other(text.into()),
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match &*text {
                    $($value => Self::$variant,)*
                    _ => Self::Other(text.into()),
                }
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.as_str() == other.as_str()
            }
        }

        impl Eq for $name {}

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = $crate::model::macros::Text::deserialize(deserializer)?;
                Ok(Self::from(&*text.0))
            }
        }
    };
}

pub(crate) use {
    absent_tag, default_of, fill_member, held, members, object, open_enum, setters, tag_none, tag_type, tag_unit, union,
};
