//! Writes a value in its canonical encoding as serde walks over it, without building it first. An object's fields
//! are written as they come and put into order at its end; most come in order already.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{self, Error as _};
use serde_json::{Error, Value};

/// Appends one value to some bytes.
pub(super) struct Writer<'a>(pub(super) &'a mut Vec<u8>);

type Done = Result<(), Error>;

impl Writer<'_> {
    fn text(self, text: &str) -> Done {
        serde_json::to_writer(self.0, text)
    }

    fn plain(self, text: &str) -> Done {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl<'a> Writer<'a> {
    fn list(self) -> List<'a> {
        List { start: self.0.len(), bytes: self.0, inside: None }
    }

    fn object(self) -> Object<'a> {
        Object { start: self.0.len(), bytes: self.0, fields: Vec::new(), inside: None }
    }

    /// Opens the object of one field that serde wraps around a variant's content.
    fn wrap(self, variant: &str) -> Result<(&'a mut Vec<u8>, Wrap), Error> {
        self.0.push(b'{');
        Writer(self.0).text(variant)?;
        self.0.push(b':');
        Ok((self.0, Wrap))
    }
}

/// An object around something, to be closed after it.
struct Wrap;

fn close(bytes: &mut Vec<u8>, wrap: Option<Wrap>) {
    if wrap.is_some() {
        bytes.push(b'}');
    }
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    fn serialize_bool(self, value: bool) -> Done {
        self.plain(if value { "true" } else { "false" })
    }
    fn serialize_i8(self, value: i8) -> Done {
        self.serialize_i64(value.into())
    }
    fn serialize_i16(self, value: i16) -> Done {
        self.serialize_i64(value.into())
    }
    fn serialize_i32(self, value: i32) -> Done {
        self.serialize_i64(value.into())
    }
    fn serialize_i64(self, value: i64) -> Done {
        serde_json::to_writer(self.0, &value)
    }
    fn serialize_u8(self, value: u8) -> Done {
        self.serialize_u64(value.into())
    }
    fn serialize_u16(self, value: u16) -> Done {
        self.serialize_u64(value.into())
    }
    fn serialize_u32(self, value: u32) -> Done {
        self.serialize_u64(value.into())
    }
    fn serialize_u64(self, value: u64) -> Done {
        serde_json::to_writer(self.0, &value)
    }
    fn serialize_f32(self, value: f32) -> Done {
        self.serialize_f64(value.into())
    }
    /// `1`, `1.0` and `1e0` are one number, so they get one spelling.
    fn serialize_f64(self, value: f64) -> Done {
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && value.abs() < EXACT_MAX {
            // Adding zero turns -0.0 into 0.0.
            return self.plain(&format!("{:.0}", value + 0.0));
        }
        serde_json::to_writer(self.0, &value)
    }
    fn serialize_char(self, value: char) -> Done {
        self.text(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Done {
        self.text(value)
    }
    fn serialize_bytes(self, value: &[u8]) -> Done {
        self.collect_seq(value)
    }
    fn serialize_none(self) -> Done {
        self.plain("null")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Done {
        self.plain("null")
    }
    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.plain("null")
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.text(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        let (bytes, wrap) = self.wrap(variant)?;
        value.serialize(Writer(bytes))?;
        close(bytes, Some(wrap));
        Ok(())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<List<'a>, Error> {
        Ok(self.list())
    }
    fn serialize_tuple(self, _: usize) -> Result<List<'a>, Error> {
        Ok(self.list())
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<List<'a>, Error> {
        Ok(self.list())
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<List<'a>, Error> {
        let (bytes, wrap) = self.wrap(variant)?;
        Ok(List { inside: Some(wrap), ..Writer(bytes).list() })
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>, Error> {
        Ok(self.object())
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a>, Error> {
        Ok(self.object())
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'a>, Error> {
        let (bytes, wrap) = self.wrap(variant)?;
        Ok(Object { inside: Some(wrap), ..Writer(bytes).object() })
    }
}

/// A list being written. Every item has a comma before it; the first comma becomes the bracket.
pub(super) struct List<'a> {
    bytes: &'a mut Vec<u8>,
    start: usize,
    inside: Option<Wrap>,
}

impl List<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.bytes.push(b',');
        value.serialize(Writer(self.bytes))
    }

    fn finish(self) -> Done {
        open(self.bytes, self.start, b'[');
        self.bytes.push(b']');
        close(self.bytes, self.inside);
        Ok(())
    }
}

fn open(bytes: &mut Vec<u8>, start: usize, bracket: u8) {
    match bytes.get_mut(start) {
        Some(comma) => *comma = bracket,
        None => bytes.push(bracket),
    }
}

/// An object being written, each field with a comma before it.
pub(super) struct Object<'a> {
    bytes: &'a mut Vec<u8>,
    start: usize,
    /// Keys, and where their fields begin.
    fields: Vec<(Cow<'static, str>, usize)>,
    inside: Option<Wrap>,
}

impl Object<'_> {
    fn key(&mut self, key: Cow<'static, str>) -> Done {
        let at = self.bytes.len();
        self.bytes.push(b',');
        Writer(self.bytes).text(&key)?;
        self.bytes.push(b':');
        self.fields.push((key, at));
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        value.serialize(Writer(self.bytes))
    }

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Done {
        self.key(Cow::Borrowed(key))?;
        self.value(value)
    }

    fn finish(mut self) -> Done {
        if !self.fields.is_sorted_by(|(a, _), (b, _)| a <= b) {
            self.sort();
        }
        open(self.bytes, self.start, b'{');
        self.bytes.push(b'}');
        close(self.bytes, self.inside);
        Ok(())
    }

    fn sort(&mut self) {
        let ends = self.fields.iter().skip(1).map(|(_, at)| *at).chain([self.bytes.len()]);
        let mut spans: Vec<_> =
            self.fields.iter().zip(ends).map(|((key, at), end)| (&**key, *at..end)).collect();
        spans.sort_by_key(|(key, _)| *key);
        let mut sorted = Vec::with_capacity(self.bytes.len() - self.start);
        for (_, span) in spans {
            sorted.extend_from_slice(&self.bytes[span]);
        }
        self.bytes[self.start..].copy_from_slice(&sorted);
    }
}

impl ser::SerializeSeq for List<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.item(value)
    }
    fn end(self) -> Done {
        self.finish()
    }
}

impl ser::SerializeTuple for List<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.item(value)
    }
    fn end(self) -> Done {
        self.finish()
    }
}

impl ser::SerializeTupleStruct for List<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.item(value)
    }
    fn end(self) -> Done {
        self.finish()
    }
}

impl ser::SerializeTupleVariant for List<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.item(value)
    }
    fn end(self) -> Done {
        self.finish()
    }
}

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        match serde_json::to_value(key)? {
            Value::String(key) => self.key(Cow::Owned(key)),
            _ => Err(Error::custom("a key is not a string")),
        }
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.value(value)
    }
    fn end(self) -> Done {
        self.finish()
    }
}

impl ser::SerializeStruct for Object<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Done {
        self.field(key, value)
    }
    fn end(self) -> Done {
        self.finish()
    }
}

impl ser::SerializeStructVariant for Object<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Done {
        self.field(key, value)
    }
    fn end(self) -> Done {
        self.finish()
    }
}
