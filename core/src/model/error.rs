//! The data of the errors that carry any.
//!
//! Sources: schema `UnsupportedProtocolVersionError`, `MissingRequiredClientCapabilityError`;
//! `URLElicitationRequiredError` of 2025-11-25. The error object itself is in [`crate::error`], the codes in
//! [`crate::spec::code`].

use super::macros::object;
use super::{ClientCapabilities, ElicitUrlParams};

object! {
    /// Data of -32022.
    pub struct UnsupportedVersionData {
        required {
            /// The revisions that the server speaks.
            supported: Vec<String> = "supported",
            /// The one that was asked for.
            requested: String = "requested",
        }
        optional {}
    }
}

object! {
    /// Data of -32021.
    pub struct MissingCapabilityData {
        required {
            /// The capabilities that the client lacks, and nothing else. See [`ClientCapabilities::missing`].
            required_capabilities: ClientCapabilities = "requiredCapabilities",
        }
        optional {}
    }
}

object! {
    /// Data of -32042 (2025-11-25).
    pub struct UrlElicitationData {
        required {
            /// What the user must visit before the request can succeed.
            elicitations: Vec<ElicitUrlParams> = "elicitations",
        }
        optional {}
    }
}

object! {
    /// Data of the error for a resource that does not exist.
    pub struct ResourceNotFoundData {
        required {
            /// The address.
            uri: String = "uri",
        }
        optional {}
    }
}
