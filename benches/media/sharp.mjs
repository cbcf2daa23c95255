// Compares the pictures that `cargo bench --bench media -- --keep DIR` leaves with those of sharp, at the same SSIM:
//
//   npm install --prefix /tmp/sharp sharp && NODE_PATH=/tmp/sharp/node_modules node benches/media/sharp.mjs DIR
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';

const folder = process.argv[2];
const sharp = createRequire(path.join(process.env.NODE_PATH ?? '.', 'x.js'))('sharp');
sharp.concurrency(1);
sharp.cache(false);

const gray = async (input) => sharp(input).removeAlpha().greyscale().raw().toBuffer({ resolveWithObject: true });

/** The mean structural similarity of two pictures, over squares of 8 pixels with steps of 4. */
function ssim(one, two) {
  const { width, height } = one.info;
  if (width !== two.info.width || height !== two.info.height) throw new Error('the sizes differ');
  let [sum, count] = [0, 0];
  for (let top = 0; top + 8 <= height; top += 4) {
    for (let left = 0; left + 8 <= width; left += 4) {
      let [a, b, aa, bb, ab] = [0, 0, 0, 0, 0];
      for (let y = top; y < top + 8; y += 1) {
        for (let x = left; x < left + 8; x += 1) {
          const [p, q] = [one.data[y * width + x], two.data[y * width + x]];
          a += p; b += q; aa += p * p; bb += q * q; ab += p * q;
        }
      }
      const [ma, mb] = [a / 64, b / 64];
      const [va, vb, vab] = [aa / 64 - ma * ma, bb / 64 - mb * mb, ab / 64 - ma * mb];
      sum += ((2 * ma * mb + 6.5025) * (2 * vab + 58.5225)) / ((ma * ma + mb * mb + 6.5025) * (va + vb + 58.5225));
      count += 1;
    }
  }
  return sum / count;
}

const photo = await readFile(path.join(folder, 'photo.jpg'));
const resized = sharp(photo).resize({ width: 1280 });
// Each is compared with what its own resizing gives without losses, so that only the encoders count.
const own = await gray(await readFile(path.join(folder, 'plain.png')));
const theirs = await gray(await resized.clone().png().toBuffer());
for (const format of ['webp', 'avif', 'jpeg']) {
  const made = await readFile(path.join(folder, `made.${format}`));
  const goal = ssim(own, await gray(made));
  let best = null;
  for (let [low, high] = [1, 100]; low <= high; ) {
    const quality = (low + high) >> 1;
    const began = performance.now();
    const bytes = await resized.clone().toFormat(format, { quality }).toBuffer();
    const found = { quality, bytes: bytes.length, ssim: ssim(theirs, await gray(bytes)), time: performance.now() - began };
    if (found.ssim >= goal) [best, high] = [found, quality - 1];
    else low = quality + 1;
  }
  const times = [];
  for (let round = 0; round < 3; round += 1) {
    const began = performance.now();
    await sharp(photo).resize({ width: 1280 }).toFormat(format, { quality: best?.quality ?? 100 }).toBuffer();
    times.push(performance.now() - began);
  }
  const size = best ? `${best.bytes} bytes at quality ${best.quality}, SSIM ${best.ssim.toFixed(4)}` : 'never reaches it';
  console.log(`${format}: Bindery ${made.length} bytes, SSIM ${goal.toFixed(4)}; sharp ${size}, ${times.sort((a, b) => a - b)[1].toFixed(0)} ms`);
}
