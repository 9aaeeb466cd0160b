//! The four formats of a text.

use super::StringFormat;

/// Whether `text` has the format. Formats that are not known here fit every text.
pub(super) fn holds(format: &StringFormat, text: &str) -> bool {
    match format {
        StringFormat::Date => is_date(text.as_bytes()),
        StringFormat::DateTime => is_date_time(text.as_bytes()),
        StringFormat::Email => is_email(text),
        StringFormat::Uri => is_uri(text),
        StringFormat::Other(_) => true,
    }
}

pub(super) fn describe(format: &StringFormat) -> &'static str {
    match format {
        StringFormat::Date => "a date such as 2026-07-28",
        StringFormat::DateTime => "a date and time such as 2026-07-28T12:00:00Z",
        StringFormat::Email => "an e-mail address",
        StringFormat::Uri => "an absolute URI",
        StringFormat::Other(_) => "another format",
    }
}

/// `full-date` of RFC 3339: a day that exists.
fn is_date(text: &[u8]) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return false };
    let (Some(year), Some(month), Some(day)) =
        (digits(&[*y1, *y2, *y3, *y4]), digits(&[*m1, *m2]), digits(&[*d1, *d2]))
    else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `date-time` of RFC 3339.
fn is_date_time(text: &[u8]) -> bool {
    let Some((date, rest)) = text.split_at_checked(10) else { return false };
    let [b'T' | b't', h1, h2, b':', m1, m2, b':', s1, s2, rest @ ..] = rest else { return false };
    let (Some(hour), Some(minute), Some(second)) = (digits(&[*h1, *h2]), digits(&[*m1, *m2]), digits(&[*s1, *s2]))
    else {
        return false;
    };
    let rest = match rest {
        [b'.', fraction @ ..] => {
            let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if length == 0 {
                return false;
            }
            fraction.get(length..).unwrap_or_default()
        }
        rest => rest,
    };
    // Minutes east of Greenwich.
    let offset = match rest {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (Some(hours), Some(minutes)) = (digits(&[*h1, *h2]), digits(&[*m1, *m2])) else { return false };
            if hours > 23 || minutes > 59 {
                return false;
            }
            let offset = i64::from(hours * 60 + minutes);
            if *sign == b'+' { offset } else { -offset }
        }
        _ => return false,
    };
    // A leap second is the last one of a day in Greenwich.
    let leap = || (i64::from(hour * 60 + minute) - offset).rem_euclid(24 * 60) == 23 * 60 + 59;
    is_date(date) && hour <= 23 && minute <= 59 && (second <= 59 || second == 60 && leap())
}

fn digits(bytes: &[u8]) -> Option<u32> {
    bytes.iter().try_fold(0, |value, byte| Some(value * 10 + char::from(*byte).to_digit(10)?))
}

/// An address as people write it: a local part of atoms (RFC 5321, UTF-8 allowed) or in quotes, and a domain.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"') && !local.contains(char::is_control);
    let atoms = local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_char));
    let labels = !domain.is_empty() && domain.len() <= 253 && domain.split('.').all(is_label);
    let literal = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']')).is_some_and(is_address);
    local.len() <= 64 && (quoted || atoms) && (labels || literal)
}

fn is_atom_char(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || "!#$%&'*+-/=?^_`{|}~".contains(c)
        || !c.is_ascii() && !c.is_control() && !c.is_whitespace()
}

fn is_label(label: &str) -> bool {
    let letters = label.chars().all(|c| c.is_alphanumeric() || c == '-');
    !label.is_empty() && label.len() <= 63 && letters && !label.starts_with('-') && !label.ends_with('-')
}

fn is_address(literal: &str) -> bool {
    literal.parse::<core::net::Ipv4Addr>().is_ok()
        || literal.strip_prefix("IPv6:").is_some_and(|address| address.parse::<core::net::Ipv6Addr>().is_ok())
}

/// An absolute URI by the characters of RFC 3986.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let named = scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let mut bytes = rest.bytes();
    while let Some(byte) = bytes.next() {
        let allowed = match byte {
            b'%' => {
                let two = [bytes.next(), bytes.next()];
                two.iter().all(|digit| digit.is_some_and(|digit| digit.is_ascii_hexdigit()))
            }
            byte => byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte),
        };
        if !allowed {
            return false;
        }
    }
    named && !rest.is_empty() && rest != "//" && rest.bytes().filter(|byte| *byte == b'#').count() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: &StringFormat, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(holds(format, text), "{format:?} {text}");
        }
        for text in bad {
            assert!(!holds(format, text), "{format:?} {text}");
        }
    }

    #[test]
    fn dates() {
        let good = ["2026-07-28", "2024-02-29", "2000-02-29", "0000-01-01"];
        let bad = [
            "2025-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-04-31",
            "2026-7-28",
            "26-07-28",
            "",
            "2026-07-28Z",
            "٢٠٢٦-07-28",
        ];
        check(&StringFormat::Date, &good, &bad);
    }

    #[test]
    fn dates_with_times() {
        let good = [
            "2026-07-28T12:00:00Z",
            "2026-07-28t12:00:00.123456789z",
            "2026-07-28T12:00:00+05:30",
            "1998-12-31T23:59:60Z",
            "1998-12-31T15:59:60.123-08:00",
        ];
        let bad = [
            "2026-07-28",
            "2026-07-28 12:00:00Z",
            "2026-07-28T12:00:00",
            "2026-07-28T24:00:00Z",
            "2026-07-28T12:60:00Z",
            "2026-07-28T12:00:60Z",
            "2026-07-28T12:00:00.Z",
            "2026-07-28T12:00:00+24:00",
            "2026-02-30T12:00:00Z",
            "é",
        ];
        check(&StringFormat::DateTime, &good, &bad);
    }

    #[test]
    fn emails() {
        let good = [
            "octocat@github.com",
            "a.b+c@x.example",
            "\"a b\"@example.org",
            "user@[127.0.0.1]",
            "用户@例子.公司",
            "a@localhost",
        ];
        let bad = ["", "a", "@b", "a@", "a b@c.d", ".a@b.c", "a..b@c.d", "a@-b.c", "a@b..c", "a@[x]", "a@b\n"];
        check(&StringFormat::Email, &good, &bad);
    }

    #[test]
    fn uris() {
        let good =
            ["https://example.com/a?b=c#d", "urn:isbn:0451450523", "mailto:a@b.c", "http://[::1]:80/", "a:b%20c"];
        let bad = [
            "",
            "example.com",
            "/path",
            "1http://x",
            "https://exa mple.com",
            "http://é",
            "a:%zz",
            "a:",
            "http://",
            "a:b#c#d",
            "a:<b>",
        ];
        check(&StringFormat::Uri, &good, &bad);
    }

    #[test]
    fn unknown_formats_fit_everything() {
        assert!(holds(&StringFormat::Other("phone".to_owned()), "anything"));
    }
}
