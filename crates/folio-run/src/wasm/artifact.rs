//! Compiled code: kept on disk by the digest of the wasm and of the engine that compiled it, so that a restart
//! compiles nothing. A file is believed only if its keyed digest is right; the key never leaves the directory.
//! Nothing a user uploads is ever taken for machine code. Start at [`Artifacts::load`].

mod trusted;

use std::fs;
use std::hash::{Hash as _, Hasher};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use folio_model::Digest;
use sha2::{Digest as _, Sha256};
use wasmtime::component::Component;
use wasmtime::{Engine, Module};

/// Length of a keyed digest, which is what a file begins with.
const SEAL_BYTES: usize = 32;

/// Compiled code of one kind or the other.
pub(super) enum Code {
    /// A component.
    Component(Component),
    /// A core module.
    Module(Module),
}

/// Where compiled code is kept.
pub(super) struct Artifacts {
    directory: PathBuf,
    engine: Engine,
    /// Names the engine's version and flags.
    flavour: Digest,
    key: [u8; 32],
    bytes_max: u64,
}

/// Machine code this server made.
struct Sealed(Vec<u8>);

/// What kind of wasm a file holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Component,
    Module,
}

impl Artifacts {
    /// Takes a directory, making it and its key if need be.
    pub(super) fn open(directory: PathBuf, engine: Engine, bytes_max: u64) -> io::Result<Self> {
        fs::create_dir_all(&directory)?;
        let key = key(&directory.join("key"))?;
        let mut hasher = Hashing(Sha256::new());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let flavour = Digest::from_bytes(hasher.0.finalize().into());
        Ok(Self { directory, engine, flavour, key, bytes_max })
    }

    /// Loads what was compiled earlier, or compiles. Takes from a millisecond to many seconds, so it belongs on a
    /// thread that may block.
    pub(super) fn load(&self, wasm: &[u8]) -> Result<Code, String> {
        let kind = kind(wasm)?;
        let path = self.path(&Digest::of(wasm));
        if let Some(kept) = self.read(&path) {
            match self.decode(kind, &kept) {
                Ok(code) => return Ok(code),
                Err(error) => tracing::warn!(%error, path = %path.display(), "Compiling anew"),
            }
        }
        let compiled = match kind {
            Kind::Component => self.engine.precompile_component(wasm),
            Kind::Module => self.engine.precompile_module(wasm),
        };
        let compiled = Sealed(self.seal(compiled.map_err(|error| format!("{error:#}"))?));
        if let Err(error) = self.write(&path, &compiled) {
            tracing::warn!(%error, path = %path.display(), "Could not keep compiled wasm");
        }
        self.decode(kind, &compiled).map_err(|error| format!("{error:#}"))
    }

    fn decode(&self, kind: Kind, artifact: &Sealed) -> wasmtime::Result<Code> {
        Ok(match kind {
            Kind::Component => Code::Component(trusted::component(&self.engine, artifact)?),
            Kind::Module => Code::Module(trusted::module(&self.engine, artifact)?),
        })
    }

    fn path(&self, wasm: &Digest) -> PathBuf {
        self.directory.join(format!("{}-{}.artifact", wasm.hex(), &self.flavour.hex()[..16]))
    }

    /// The artifact at a path, if it is there and ours.
    fn read(&self, path: &Path) -> Option<Sealed> {
        let bytes = fs::read(path).ok()?;
        let (seal, code) = bytes.split_at_checked(SEAL_BYTES)?;
        // The comparison need not hide its time: whoever can write here and measure could read the key.
        if seal != self.keyed_digest(code) {
            tracing::warn!(path = %path.display(), "Compiled wasm was damaged or is not ours");
            return None;
        }
        Some(Sealed(bytes))
    }

    fn write(&self, path: &Path, artifact: &Sealed) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(&artifact.0)?;
        file.persist(path).map_err(|error| error.error)?;
        self.trim()
    }

    /// Removes the oldest files until what is left is within the limit.
    fn trim(&self) -> io::Result<()> {
        let mut kept = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|extension| extension == "artifact") {
                let meta = entry.metadata()?;
                let age = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                kept.push((age, meta.len(), entry.path()));
            }
        }
        kept.sort();
        let mut total: u64 = kept.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in kept {
            if total <= self.bytes_max {
                break;
            }
            fs::remove_file(path)?;
            total -= bytes;
        }
        Ok(())
    }

    fn seal(&self, code: Vec<u8>) -> Vec<u8> {
        let mut sealed = self.keyed_digest(&code).to_vec();
        sealed.extend(code);
        sealed
    }

    /// HMAC with SHA-256, as RFC 2104 has it.
    fn keyed_digest(&self, bytes: &[u8]) -> [u8; SEAL_BYTES] {
        let pad = |with: u8| {
            let mut block = [with; 64];
            block.iter_mut().zip(self.key).for_each(|(byte, key)| *byte ^= key);
            block
        };
        let inner = Sha256::new().chain_update(pad(0x36)).chain_update(bytes).finalize();
        Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().into()
    }
}

impl Sealed {
    fn bytes(&self) -> &[u8] {
        &self.0[SEAL_BYTES..]
    }
}

fn kind(wasm: &[u8]) -> Result<Kind, String> {
    match wasm.get(..8) {
        Some(b"\0asm\x01\0\0\0") => Ok(Kind::Module),
        Some(b"\0asm\x0d\0\x01\0") => Ok(Kind::Component),
        _ => Err("it is neither a WebAssembly component nor a module".to_owned()),
    }
}

/// The key in a file. Artifacts can be made again, so a key that is not whole is replaced and what it sealed is
/// no longer believed.
fn key(path: &Path) -> io::Result<[u8; 32]> {
    let found = match fs::read(path) {
        Ok(bytes) => bytes.try_into().ok(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(key) = found {
        return Ok(key);
    }
    let fresh: [u8; 32] = rand::random();
    let made = path.with_extension("new");
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&made)?;
    file.write_all(&fresh)?;
    file.sync_all()?;
    fs::rename(&made, path)?;
    Ok(fresh)
}

/// Feeds what is hashed to SHA-256, so that the result means the same in every build.
struct Hashing(Sha256);

impl Hasher for Hashing {
    fn finish(&self) -> u64 {
        let digest: [u8; 32] = self.0.clone().finalize().into();
        u64::from_le_bytes(digest[..8].try_into().expect("a digest has more than 8 bytes"))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_MODULE: &[u8] = b"\0asm\x01\0\0\0";

    fn artifacts(directory: &Path) -> Artifacts {
        Artifacts::open(directory.to_path_buf(), Engine::default(), u64::MAX).unwrap()
    }

    fn files(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some()).collect()
    }

    #[test]
    fn what_was_compiled_is_read_back_by_the_next_process() {
        let directory = tempfile::tempdir().unwrap();
        artifacts(directory.path()).load(EMPTY_MODULE).unwrap();
        let files = files(directory.path());
        assert_eq!(files.len(), 1);
        assert!(artifacts(directory.path()).read(&files[0]).is_some());
    }

    #[test]
    fn an_artifact_with_one_bit_changed_is_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let artifacts = artifacts(directory.path());
        artifacts.load(EMPTY_MODULE).unwrap();
        let path = files(directory.path()).remove(0);
        let mut bytes = fs::read(&path).unwrap();
        bytes[SEAL_BYTES + 100] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert!(artifacts.read(&path).is_none());
        artifacts.load(EMPTY_MODULE).unwrap();
        assert!(artifacts.read(&path).is_some(), "compiled anew and kept");
    }

    #[test]
    fn an_artifact_of_another_directory_is_not_believed() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        artifacts(one.path()).load(EMPTY_MODULE).unwrap();
        assert!(artifacts(other.path()).read(&files(one.path())[0]).is_none());
    }

    #[test]
    fn machine_code_is_not_accepted_as_wasm() {
        let directory = tempfile::tempdir().unwrap();
        let precompiled = Engine::default().precompile_module(EMPTY_MODULE).unwrap();
        let refused = artifacts(directory.path()).load(&precompiled).err().unwrap();
        assert_eq!(refused, "it is neither a WebAssembly component nor a module");
    }

    #[test]
    fn the_oldest_artifacts_leave_when_there_is_no_room() {
        let directory = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::open(directory.path().into(), Engine::default(), 0).unwrap();
        artifacts.load(EMPTY_MODULE).unwrap();
        assert_eq!(files(directory.path()), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_key_that_a_power_cut_left_half_written_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        fs::write(&path, b"half").unwrap();
        let fresh = key(&path).unwrap();
        assert_eq!(key(&path).unwrap(), fresh);
    }

    #[test]
    fn the_keyed_digest_is_hmac() {
        let directory = tempfile::tempdir().unwrap();
        let mut artifacts = artifacts(directory.path());
        artifacts.key = [0; 32];
        artifacts.key[..20].copy_from_slice(&[0x0b; 20]);
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(Digest::from_bytes(artifacts.keyed_digest(b"Hi There")).hex(), expected);
    }
}
