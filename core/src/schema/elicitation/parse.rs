//! A form from the wire. What the specification does not know is kept; what it forbids is refused.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fields::{Choosable, Common, Spelling};
use super::{
    BooleanField, ChoiceField, ChoicesField, ElicitationError, ElicitationSchema, Field, MAX_FIELDS, MAX_OPTIONS,
    NumberField, StringField, StringFormat,
};
use crate::json::Json;
use crate::schema::dialect::count;
use crate::schema::members::Members;
use crate::schema::problem::shortened;

/// Bytes of a field's name that errors keep.
const SHOWN_NAME: usize = 64;

impl ElicitationSchema {
    /// Reads `requestedSchema`.
    ///
    /// # Errors
    /// If it is no flat form: nested objects, lists that are not options, members of the wrong type.
    pub fn parse(raw: &Json) -> Result<Self, ElicitationError> {
        let mut root = Members::of(raw).ok_or(ElicitationError::NotAForm)?;
        let member = |member, expected| ElicitationError::InvalidMember { field: String::new(), member, expected };
        if take::<String>(&mut root, "type").ok().flatten().as_deref() != Some("object") {
            return Err(ElicitationError::NotAForm);
        }
        let properties = take::<Members>(&mut root, "properties").ok().flatten();
        let properties = properties.ok_or_else(|| member("properties", "an object of fields"))?;
        let required = take::<Vec<String>>(&mut root, "required");
        let required = required.map_err(|_| member("required", "an array of strings"))?.unwrap_or_default();
        if properties.0.len() > MAX_FIELDS || required.len() > MAX_FIELDS {
            return Err(ElicitationError::TooManyFields { limit: MAX_FIELDS });
        }
        let mut form = Self { other: root, ..Self::default() };
        for (name, schema) in properties.0 {
            if form.fields.iter().any(|(other, _)| *other == name) {
                return Err(ElicitationError::DuplicateField { field: shortened(&name, SHOWN_NAME) });
            }
            let mut field = Reader { name: shortened(&name, SHOWN_NAME) }.field(&schema)?;
            field.common_mut().required = required.contains(&name);
            form.fields.push((name, field));
        }
        form.required_elsewhere =
            required.into_iter().filter(|name| !form.fields.iter().any(|(field, _)| field == name)).collect();
        Ok(form)
    }
}

/// Reads one field.
struct Reader {
    /// The name, as errors show it.
    name: String,
}

impl Reader {
    fn field(&self, schema: &Json) -> Result<Field, ElicitationError> {
        let mut members = Members::of(schema).ok_or_else(|| self.invalid("the field", "an object"))?;
        let Ok(Some(kind)) = take::<String>(&mut members, "type") else {
            return Err(ElicitationError::UnsupportedType { field: self.name.clone() });
        };
        let common = Common {
            title: self.read(&mut members, "title", "a string")?,
            description: self.read(&mut members, "description", "a string")?,
            ..Common::default()
        };
        let mut field = match kind.as_str() {
            "string" if members.get("enum").is_some() || members.get("oneOf").is_some() => {
                Field::Choice(self.choice(common, &mut members)?)
            }
            "string" => Field::String(self.string(common, &mut members)?),
            "integer" | "number" => Field::Number(self.number(common, &mut members, kind == "integer")?),
            "boolean" => {
                Field::Boolean(BooleanField { common, default: self.read(&mut members, "default", "a boolean")? })
            }
            "array" => Field::Choices(self.choices(common, &mut members)?),
            "object" => return Err(ElicitationError::Nested { field: self.name.clone() }),
            _ => return Err(ElicitationError::UnsupportedType { field: self.name.clone() }),
        };
        field.common_mut().other = members;
        Ok(field)
    }

    fn string(&self, common: Common, members: &mut Members) -> Result<StringField, ElicitationError> {
        let format: Option<String> = self.read(members, "format", "a string")?;
        Ok(StringField {
            common,
            min_length: self.count(members, "minLength")?,
            max_length: self.count(members, "maxLength")?,
            format: format.map(|name| StringFormat::from_name(&name)),
            pattern: self.read(members, "pattern", "a string")?,
            default: self.read(members, "default", "a string")?,
        })
    }

    fn number(&self, common: Common, members: &mut Members, integer: bool) -> Result<NumberField, ElicitationError> {
        let mut number = |member| match self.read::<Value>(members, member, "a number")? {
            Some(value) if !value.is_number() => Err(self.invalid(member, "a number")),
            value => Ok(value),
        };
        let (minimum, maximum, default) = (number("minimum")?, number("maximum")?, number("default")?);
        Ok(NumberField { common, integer, minimum, maximum, default })
    }

    fn choice(&self, common: Common, members: &mut Members) -> Result<ChoiceField, ElicitationError> {
        let (options, spelling) = self.options(members, "oneOf")?;
        Ok(ChoiceField { common, options, spelling, default: self.read(members, "default", "a string")? })
    }

    fn choices(&self, common: Common, members: &mut Members) -> Result<ChoicesField, ElicitationError> {
        let nested = || ElicitationError::Nested { field: self.name.clone() };
        let mut items: Members = self.read(members, "items", "an object of options")?.ok_or_else(nested)?;
        // `anyOf` is what the specification has here; `oneOf` says the same and is met.
        let titled = if items.get("oneOf").is_some() { "oneOf" } else { "anyOf" };
        if items.get("enum").is_none() && items.get(titled).is_none() {
            return Err(nested());
        }
        if self.read::<String>(&mut items, "type", "\"string\"")?.is_some_and(|kind| kind != "string") {
            return Err(nested());
        }
        let (options, spelling) = self.options(&mut items, titled)?;
        Ok(ChoicesField {
            common,
            options,
            spelling,
            min_items: self.count(members, "minItems")?,
            max_items: self.count(members, "maxItems")?,
            default: self.read(members, "default", "an array of strings")?,
            items_other: items,
        })
    }

    /// The options, as `enum` (with or without `enumNames`) or as a list under `titled`.
    fn options(
        &self,
        members: &mut Members,
        titled: &'static str,
    ) -> Result<(Vec<Choosable>, Spelling), ElicitationError> {
        const TITLED: &str = "an array of objects with const and title";
        let plain: Option<Vec<String>> = self.read(members, "enum", "an array of strings")?;
        let Some(values) = plain else {
            let list: Vec<Members> = self.read(members, titled, TITLED)?.unwrap_or_default();
            self.check_count(list.len())?;
            let mut options = Vec::with_capacity(list.len());
            for mut option in list {
                let value = take(&mut option, "const").ok().flatten();
                let title = take(&mut option, "title").ok().flatten();
                let (Some(value), Some(title)) = (value, title) else { return Err(self.invalid(titled, TITLED)) };
                options.push(Choosable { value, title: Some(title), other: option });
            }
            return Ok((options, Spelling::Titled));
        };
        self.check_count(values.len())?;
        let names: Option<Vec<String>> = self.read(members, "enumNames", "an array of strings")?;
        let spelling = if names.is_some() { Spelling::Legacy } else { Spelling::Plain };
        // Options beyond the names are shown as they are.
        let mut names = names.unwrap_or_default().into_iter();
        let options =
            values.into_iter().map(|value| Choosable { value, title: names.next(), other: Members::default() });
        Ok((options.collect(), spelling))
    }

    fn check_count(&self, options: usize) -> Result<(), ElicitationError> {
        if options > MAX_OPTIONS {
            return Err(ElicitationError::TooManyOptions { field: self.name.clone(), limit: MAX_OPTIONS });
        }
        Ok(())
    }

    fn count(&self, members: &mut Members, member: &'static str) -> Result<Option<u64>, ElicitationError> {
        const EXPECTED: &str = "an integer that is not negative";
        match self.read::<Value>(members, member, EXPECTED)? {
            Some(value) => count(&value).map(Some).ok_or_else(|| self.invalid(member, EXPECTED)),
            None => Ok(None),
        }
    }

    fn read<T: DeserializeOwned>(
        &self,
        members: &mut Members,
        member: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, ElicitationError> {
        take(members, member).map_err(|()| self.invalid(member, expected))
    }

    fn invalid(&self, member: &'static str, expected: &'static str) -> ElicitationError {
        ElicitationError::InvalidMember { field: self.name.clone(), member, expected }
    }
}

/// Removes every member called `name` and decodes the last.
fn take<T: DeserializeOwned>(members: &mut Members, name: &str) -> Result<Option<T>, ()> {
    let Some(value) = members.get(name) else { return Ok(None) };
    let value = value.parse().map_err(|_| ())?;
    members.0.retain(|(member, _)| member != name);
    Ok(Some(value))
}
