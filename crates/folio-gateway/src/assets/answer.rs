//! What a client hears of a static file: validators, encodings, ranges, caching.

use std::sync::Arc;

use bytes::Bytes;
use folio_core::Folio;
use folio_core::ports::Body;
use folio_core::serving::{Asset, AssetFile, Media, media};
use futures::{StreamExt as _, TryStreamExt as _};
use http::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_TYPE, ETAG, HeaderName, IF_MATCH, IF_NONE_MATCH, IF_RANGE, LOCATION, RANGE, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};
use http_body::Frame;
use http_body_util::StreamBody;

use super::ranges::{self, Wanted};
use super::{Hit, Means, is_fingerprinted};
use crate::problem::Problem;

/// How long clients may keep a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caching {
    /// For ever: the address says which release it is of.
    Forever,
    /// As the item says.
    AsSaid,
    /// By the client alone, and asked for again: the same address may show something else to others.
    Own,
    /// Not at all: the same address shows something else to others.
    Private,
}

/// A static file that was asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) hit: Hit,
    pub(crate) status: StatusCode,
    pub(crate) caching: Caching,
    pub(crate) headers: HeaderMap,
    pub(crate) uri: Uri,
    pub(crate) is_head: bool,
}

impl Asked {
    pub(crate) fn new(hit: Hit, (method, uri, headers): (&Method, &Uri, &HeaderMap)) -> Self {
        let is_head = method == Method::HEAD;
        let wanted = [ACCEPT_ENCODING, IF_MATCH, IF_NONE_MATCH, IF_RANGE, RANGE];
        let mut own = HeaderMap::new();
        // Only a GET has parts: RFC 9110, section 14.2.
        for name in wanted.into_iter().filter(|name| !is_head || *name != RANGE) {
            for value in headers.get_all(&name) {
                own.append(name.clone(), value.clone());
            }
        }
        let (status, caching, uri) = (StatusCode::OK, Caching::AsSaid, uri.clone());
        Self { hit, status, caching, headers: own, uri, is_head }
    }

    /// The answer.
    pub(crate) async fn answer(self, folio: &Folio) -> Result<Response<Body>, Problem> {
        let (file, path) = match &self.hit.means {
            Means::File(file, path) => (Arc::clone(file), path.clone()),
            Means::Directory => return Ok(redirect(&self.uri)),
            Means::Unreadable => return Err(Problem::unreadable("the static files here")),
        };
        let Media { kind, is_compressible } = media(&path);
        let encoded = if is_compressible { self.encoded(folio, &file).await } else { None };
        let (encoding, encoded) = encoded.unzip();
        let tag = tag(&file, encoding);
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        self.say(headers, &path, kind);
        headers.insert(ETAG, tag.clone());
        if is_compressible {
            headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        if self.status == StatusCode::OK
            && let Some(status) = self.precondition(&tag)
        {
            headers.remove(CONTENT_TYPE);
            if status == StatusCode::PRECONDITION_FAILED {
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            }
            *response.status_mut() = status;
            return Ok(response);
        }
        if let Some(encoding) = encoding {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        let length = encoded.as_ref().map_or(file.bytes, |bytes| bytes.len() as u64);
        let part = match self.range(&tag, length) {
            Wanted::Whole => None,
            Wanted::Part(from, to) => {
                let range = format!("bytes {from}-{to}/{length}");
                headers.insert(CONTENT_RANGE, value(&range));
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                Some((from, to))
            }
            Wanted::Nothing => {
                headers.insert(CONTENT_RANGE, value(&format!("bytes */{length}")));
                headers.remove(CONTENT_TYPE);
                headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                *response.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
                return Ok(response);
            }
        };
        let (from, bytes) = part.map_or((0, length), |(from, to)| (from, to - from + 1));
        response.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes));
        if !self.is_head {
            *response.body_mut() = match encoded {
                Some(encoded) => Body::from(encoded),
                None => body(folio, &file, (from, bytes)).await?,
            };
        }
        Ok(response)
    }

    /// What every answer says of the file.
    fn say(&self, headers: &mut HeaderMap, path: &str, kind: HeaderValue) {
        headers.insert(CONTENT_TYPE, kind);
        headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let asset: &Asset = &self.hit.asset;
        headers.insert(CACHE_CONTROL, self.cache_control(asset, path));
        for (name, text) in &asset.spec.headers {
            if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                headers.insert(name, value(text));
            }
        }
    }

    fn cache_control(&self, asset: &Asset, path: &str) -> HeaderValue {
        let forever = self.caching == Caching::Forever || is_fingerprinted(path);
        match asset.spec.expires {
            _ if self.status != StatusCode::OK => HeaderValue::from_static("no-cache"),
            _ if self.caching == Caching::Private => HeaderValue::from_static("private, no-store"),
            _ if forever => HeaderValue::from_static("public, max-age=31536000, immutable"),
            _ if self.caching == Caching::Own => HeaderValue::from_static("private, no-cache"),
            None | Some(0) => HeaderValue::from_static("public, no-cache, max-age=0"),
            Some(seconds) => value(&format!("public, must-revalidate, max-age={seconds}")),
        }
    }

    /// The encoding to send, with the bytes; none where parts are asked for.
    async fn encoded(&self, folio: &Folio, file: &Arc<AssetFile>) -> Option<(&'static str, Bytes)> {
        if self.headers.contains_key(RANGE) || !self.headers.contains_key(ACCEPT_ENCODING) {
            return None;
        }
        let encoded = folio.asset_encoded(file).await?;
        let choices = [("br", &encoded.br), ("zstd", &encoded.zstd), ("gzip", &encoded.gzip)];
        let mut best: Option<(u32, &'static str, &Bytes)> = None;
        for (name, bytes) in choices {
            let Some(bytes) = bytes else { continue };
            let quality = quality(&self.headers, name);
            if quality > best.as_ref().map_or(0, |(found, ..)| *found) {
                best = Some((quality, name, bytes));
            }
        }
        best.map(|(_, name, bytes)| (name, bytes.clone()))
    }

    /// The status that the request's conditions come to, if they are not met.
    fn precondition(&self, tag: &HeaderValue) -> Option<StatusCode> {
        let text = tag.to_str().unwrap_or_default();
        if self.headers.contains_key(IF_MATCH) && !names(&self.headers, &IF_MATCH, text) {
            return Some(StatusCode::PRECONDITION_FAILED);
        }
        names(&self.headers, &IF_NONE_MATCH, text).then_some(StatusCode::NOT_MODIFIED)
    }

    fn range(&self, tag: &HeaderValue, length: u64) -> Wanted {
        let range = self.headers.get(RANGE).and_then(|range| range.to_str().ok());
        let current = self.headers.get(IF_RANGE).is_none_or(|known| known == tag);
        match range.filter(|_| current && self.status == StatusCode::OK) {
            Some(range) => ranges::wanted(range, length),
            None => Wanted::Whole,
        }
    }
}

/// A part of a file, from memory if it is kept there.
async fn body(folio: &Folio, file: &AssetFile, (from, bytes): (u64, u64)) -> Result<Body, Problem> {
    let unread = |error: folio_core::ports::StoreError| Problem::unread(&error);
    if file.fits_memory() {
        let whole = folio.asset_bytes(file).await.map_err(unread)?;
        let start = usize::try_from(from).unwrap_or(usize::MAX).min(whole.len());
        let end = usize::try_from(from + bytes).unwrap_or(usize::MAX).min(whole.len());
        return Ok(Body::from(whole.slice(start..end)));
    }
    let stream = folio.asset_stream(file, from).await.map_err(unread)?;
    let mut left = bytes;
    let pieces = stream.content.map_ok(move |mut piece: Bytes| {
        let fits = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        left -= fits as u64;
        piece.truncate(fits);
        Frame::data(piece)
    });
    let pieces = pieces.take_while(|piece| {
        let goes_on = piece
            .as_ref()
            .map_or(true, |frame| frame.data_ref().is_some_and(|data| !data.is_empty()));
        futures::future::ready(goes_on)
    });
    Ok(Body::stream(StreamBody::new(pieces)))
}

/// Leads to a directory with the slash that its files need.
fn redirect(uri: &Uri) -> Response<Body> {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    // Relative to the last segment, so that no host or scheme can be led astray.
    let last = uri.path().rsplit('/').next().unwrap_or_default();
    let mut response = Response::new(Body::Empty);
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    // What is a directory now may be a file in the next release.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.headers_mut().insert(LOCATION, value(&format!("./{last}/{query}")));
    response
}

fn tag(file: &AssetFile, encoding: Option<&str>) -> HeaderValue {
    let whole = file.validator();
    let Some(encoding) = encoding else { return whole.clone() };
    let quoted = whole.to_str().unwrap_or_default();
    value(&format!("{}-{encoding}\"", quoted.trim_end_matches('"')))
}

/// Whether a list of validators names one. A weak one is as good, since files never change.
fn names(headers: &HeaderMap, header: &HeaderName, tag: &str) -> bool {
    let lines = headers.get_all(header).iter().filter_map(|line| line.to_str().ok());
    let mut named = lines.flat_map(|line| line.split(',')).map(str::trim);
    named.any(|named| named == "*" || named.strip_prefix("W/").unwrap_or(named) == tag)
}

/// How much a client likes an encoding, in thousandths; 0 if it does not take it.
fn quality(headers: &HeaderMap, encoding: &str) -> u32 {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    let mut any = 0;
    for choice in lines.flat_map(|line| line.split(',')) {
        let mut parts = choice.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=")).unwrap_or("1");
        let weight =
            weight.parse::<f32>().map_or(0, |weight| (weight.clamp(0., 1.) * 1000.) as u32);
        if name.eq_ignore_ascii_case(encoding) {
            return weight;
        }
        if name == "*" {
            any = weight;
        }
    }
    any
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}
