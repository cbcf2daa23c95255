//! The store of files: in a folder, and in a bucket.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};

use super::{Store, read};
use crate::{Accepted, Hash, MediaError, Place, Verdict};

/// A folder, and a bucket that is a folder.
fn stores() -> [Store; 2] {
    [Store::new(), Store::at(|folder| Place::Bucket(format!("file://{}/bucket", folder.display())))]
}

#[tokio::test]
async fn a_file_is_stored_under_its_hash_and_read_whole_and_in_parts() {
    for store in stores() {
        let text = "a line of text\n".repeat(100_000);
        let taken = store.upload("notes.txt", text.as_bytes()).await.unwrap();
        assert_eq!(taken.hash, Hash::of(text.as_bytes()));
        assert_eq!((taken.bytes, taken.mime.as_str()), (1_500_000, "text/plain"));
        assert_eq!(taken.picture, None);
        assert_eq!(store.read(&taken.hash).await.unwrap(), text.as_bytes());
        assert!(store.files.contains(&taken.hash).await.unwrap());
        for (range, expected) in
            [(0..5, 0..5), (7..1_000_000, 7..1_000_000), (1_499_990..9_000_000, 1_499_990..1_500_000)]
        {
            let part = store.files.read(&taken.hash, Some(range)).await.unwrap().unwrap();
            assert_eq!((part.bytes, part.range), (1_500_000, expected.start as u64..expected.end as u64));
            let pieces: Vec<Bytes> = part.body.try_collect().await.unwrap();
            assert_eq!(pieces.concat(), text.as_bytes()[expected]);
        }
        let beyond = store.files.read(&taken.hash, Some(1_500_000..1_500_001)).await;
        assert!(matches!(beyond, Err(MediaError::Range { start: 1_500_000, bytes: 1_500_000 })));
        assert_eq!(store.uploads(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_file_that_is_uploaded_twice_is_stored_once() {
    for store in stores() {
        let first = store.upload("a.txt", b"the same text").await.unwrap();
        let second = store.upload("b.txt", b"the same text").await.unwrap();
        assert_eq!(first, second);
        let listed: Vec<_> = store.files.list().try_collect().await.unwrap();
        assert_eq!(listed.iter().map(|file| (file.hash, file.bytes)).collect::<Vec<_>>(), [(first.hash, 13)]);
        assert!(listed[0].modified.elapsed().unwrap_or_default() < Duration::from_secs(60));
    }
}

#[tokio::test]
async fn a_file_is_verified_and_a_damaged_one_is_replaced_by_an_upload() {
    let store = Store::new();
    let taken = store.upload("a.txt", b"some text").await.unwrap();
    assert_eq!(store.files.verify(&taken.hash).await.unwrap(), Verdict::Whole);
    let path = store.files.local_path(&taken.hash).unwrap();
    for damaged in [&b"some"[..], b"some tent"] {
        std::fs::write(&path, damaged).unwrap();
        assert_eq!(store.files.verify(&taken.hash).await.unwrap(), Verdict::Damaged);
        store.upload("a.txt", b"some text").await.unwrap();
        assert_eq!(store.files.verify(&taken.hash).await.unwrap(), Verdict::Whole);
    }
    store.files.remove(&taken.hash).await.unwrap();
    assert_eq!(store.files.verify(&taken.hash).await.unwrap(), Verdict::Missing);
}

#[tokio::test]
async fn a_removed_file_is_missing_and_removing_it_again_is_no_error() {
    for store in stores() {
        let hash = store.upload("a.txt", b"some text").await.unwrap().hash;
        store.files.remove(&hash).await.unwrap();
        store.files.remove(&hash).await.unwrap();
        assert!(!store.files.contains(&hash).await.unwrap());
        assert!(store.files.read(&hash, None).await.unwrap().is_none());
        assert_eq!(store.files.list().count().await, 0);
    }
}

#[tokio::test]
async fn a_sweep_leaves_a_file_whose_content_was_uploaded_again() {
    let store = Store::new();
    let hash = store.upload("a.txt", b"some text").await.unwrap().hash;
    let old = SystemTime::now() - Duration::from_secs(7200);
    let path = store.files.local_path(&hash).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    store.upload("a.txt", b"some text").await.unwrap();
    assert!(!store.files.remove_unchanged(&hash, Duration::from_secs(3600)).await.unwrap());
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    assert!(store.files.remove_unchanged(&hash, Duration::from_secs(3600)).await.unwrap());
    assert!(!store.files.contains(&hash).await.unwrap());
}

#[tokio::test]
async fn a_large_file_goes_to_a_bucket_in_parts() {
    let store = Store::at(|folder| Place::Bucket(format!("file://{}/bucket", folder.display())));
    let bytes: Vec<u8> = (0..12_000_000_u32).map(|number| (number / 7) as u8).collect();
    let taken = store.upload("data.bin", &bytes).await.unwrap();
    assert_eq!(taken.mime, "application/octet-stream");
    assert!(store.read(&taken.hash).await.unwrap() == bytes);
}

#[tokio::test]
async fn a_file_is_copied_to_another_store() {
    let [from, to] = stores();
    let hash = from.upload("a.txt", b"some text").await.unwrap().hash;
    to.files.put_file(&hash, &from.files.local_path(&hash).unwrap()).await.unwrap();
    assert_eq!(read(&to.files, &hash).await.unwrap(), b"some text");
    to.files.remove(&hash).await.unwrap();
    let body = from.files.read(&hash, None).await.unwrap().unwrap().body;
    to.files.put_stream(&hash, body).await.unwrap();
    assert_eq!(read(&to.files, &hash).await.unwrap(), b"some text");
    let other = Hash::of(b"another text");
    let error = to.files.put_file(&other, &from.files.local_path(&hash).unwrap()).await.unwrap_err();
    assert!(matches!(error, MediaError::WrongHash { expected, found } if expected == other && found == hash));
    assert!(!to.files.contains(&other).await.unwrap());
}

#[tokio::test]
async fn an_upload_beyond_the_limit_is_refused_and_leaves_nothing() {
    let store = Store::new();
    let mut upload = store.files.begin(1000).await.unwrap();
    upload.write(Bytes::from(vec![b'a'; 1000])).await.unwrap();
    let error = upload.write(Bytes::from_static(b"a")).await.unwrap_err();
    assert!(matches!(error, MediaError::TooLarge { max_bytes: 1000 }));
    drop(upload);
    assert_eq!(store.uploads(), Vec::<String>::new());
    let exact = store.files.begin(3).await.unwrap();
    let error = exact.finish(&Accepted::default(), "empty.txt").await.unwrap_err();
    assert!(matches!(error, MediaError::Empty));
    assert_eq!(store.uploads(), Vec::<String>::new());
}

#[tokio::test]
async fn uploads_that_the_end_of_the_process_stopped_are_removed() {
    let store = Store::new();
    let mut upload = store.files.begin(1 << 20).await.unwrap();
    upload.write(Bytes::from(vec![b'a'; 600_000])).await.unwrap();
    assert_eq!(store.uploads().len(), 1);
    // The process ends without running destructors.
    std::mem::forget(upload);
    assert_eq!(store.files.remove_stopped_uploads().unwrap(), 1);
    assert_eq!(store.uploads(), Vec::<String>::new());
}

#[test]
fn copies_to_another_disk_that_the_end_of_the_process_stopped_are_removed() {
    let store = Store::new();
    let media = store.folder.path().join("media");
    let [part, stranger] = [format!("{}.part", Hash::of(b"some text")), "notes.part".to_owned()];
    for name in [&part, &stranger] {
        std::fs::write(media.join(name), b"some").unwrap();
    }
    assert_eq!(store.files.remove_stopped_uploads().unwrap(), 1);
    assert!(!media.join(part).exists() && media.join(stranger).exists());
}

#[tokio::test]
async fn a_stranger_in_the_folder_is_not_listed() {
    let store = Store::new();
    let hash = store.upload("a.txt", b"some text").await.unwrap().hash;
    let folder = store.files.local_path(&hash).unwrap().parent().unwrap().to_owned();
    std::fs::write(folder.join("notes.txt"), b"not a hash").unwrap();
    let listed: Vec<_> = store.files.list().try_collect().await.unwrap();
    assert_eq!(listed.len(), 1);
}

#[test]
fn addresses_of_buckets_are_checked() {
    for (address, part) in [
        ("bucket", "use `s3://BUCKET/PREFIX`"),
        ("s3://", "names no bucket"),
        ("s3://key:secret@bucket", "credentials"),
        ("ftp://host/folder", "`ftp` is not supported"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let error = crate::Files::open(&Place::Bucket(address.to_owned()), folder.path()).unwrap_err().to_string();
        assert!(error.contains(part), "{address}: {error}");
    }
}

#[test]
fn a_hash_is_64_lowercase_digits() {
    let hash = Hash::of(b"some text");
    assert_eq!(hash.to_string().parse::<Hash>().unwrap(), hash);
    for text in ["", "abc", &hash.to_string().to_uppercase(), &format!("{hash}0"), "../../etc/passwd"] {
        assert!(text.parse::<Hash>().unwrap_err().to_string().contains("64 hexadecimal digits"), "{text}");
    }
}
