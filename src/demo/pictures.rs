//! The pictures of the demonstration: landscapes that the program draws itself, so that they need no licence and no
//! room in the binary. Must not know where they are stored.

use std::f32::consts::TAU;
use std::io::Cursor;

use bindery_model::error::{Error, Result};
use image::codecs::jpeg::JpegEncoder;
use image::{Rgb, RgbImage};
use serde_json::{Value, json};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 640;
const QUALITY: u8 = 80;
/// The ranges of hills behind each other.
const RANGES: usize = 5;

type Color = [u8; 3];

/// A landscape.
pub(crate) struct Landscape {
    /// The name of the file.
    pub(crate) name: &'static str,
    /// The descriptions, by the slugs of the languages.
    alt: [(&'static str, &'static str); 4],
    /// The color of the sky above, and at the horizon.
    sky: [Color; 2],
    /// The color of the hills far away, and in front.
    hills: [Color; 2],
    /// The middle of the sun or the moon, from 0 to 1, and its color.
    sun: ([f32; 2], Color),
    /// A number from which the shapes of the hills follow.
    seed: u32,
}

pub(crate) static LANDSCAPES: [Landscape; 6] = [
    Landscape {
        name: "dawn.jpg",
        alt: [
            ("en", "Violet hills before sunrise"),
            ("de", "Violette Hügel vor Sonnenaufgang"),
            ("fr", "Collines violettes avant le lever du soleil"),
            ("ja", "日の出前の紫色の丘"),
        ],
        sky: [[72, 74, 128], [246, 190, 160]],
        hills: [[176, 132, 160], [48, 36, 70]],
        sun: ([0.3, 0.55], [255, 226, 180]),
        seed: 1,
    },
    Landscape {
        name: "noon.jpg",
        alt: [
            ("en", "Green hills under a clear sky"),
            ("de", "Grüne Hügel unter klarem Himmel"),
            ("fr", "Collines vertes sous un ciel dégagé"),
            ("ja", "晴れた空の下の緑の丘"),
        ],
        sky: [[74, 150, 214], [214, 236, 246]],
        hills: [[150, 190, 160], [30, 92, 58]],
        sun: ([0.75, 0.18], [255, 250, 226]),
        seed: 2,
    },
    Landscape {
        name: "dusk.jpg",
        alt: [
            ("en", "Red evening sky over dark hills"),
            ("de", "Roter Abendhimmel über dunklen Hügeln"),
            ("fr", "Ciel rouge du soir au-dessus de collines sombres"),
            ("ja", "暗い丘の上の赤い夕空"),
        ],
        sky: [[60, 30, 80], [244, 120, 70]],
        hills: [[170, 72, 66], [38, 18, 36]],
        sun: ([0.62, 0.5], [255, 214, 120]),
        seed: 3,
    },
    Landscape {
        name: "night.jpg",
        alt: [
            ("en", "The moon over blue hills"),
            ("de", "Der Mond über blauen Hügeln"),
            ("fr", "La lune au-dessus de collines bleues"),
            ("ja", "青い丘の上の月"),
        ],
        sky: [[8, 14, 40], [48, 74, 120]],
        hills: [[42, 66, 106], [6, 12, 28]],
        sun: ([0.7, 0.25], [232, 236, 240]),
        seed: 4,
    },
    Landscape {
        name: "fog.jpg",
        alt: [
            ("en", "Gray hills in the fog"),
            ("de", "Graue Hügel im Nebel"),
            ("fr", "Collines grises dans le brouillard"),
            ("ja", "霧の中の灰色の丘"),
        ],
        sky: [[188, 198, 204], [226, 230, 230]],
        hills: [[200, 208, 210], [92, 108, 114]],
        sun: ([0.45, 0.3], [244, 246, 244]),
        seed: 5,
    },
    Landscape {
        name: "desert.jpg",
        alt: [
            ("en", "Dunes in yellow light"),
            ("de", "Dünen in gelbem Licht"),
            ("fr", "Dunes dans une lumière jaune"),
            ("ja", "黄色い光の中の砂丘"),
        ],
        sky: [[120, 180, 206], [250, 232, 190]],
        hills: [[236, 196, 130], [160, 92, 40]],
        sun: ([0.2, 0.25], [255, 246, 214]),
        seed: 6,
    },
];

impl Landscape {
    /// Returns the attributes in each language: the description, the author, and the focal point.
    pub(crate) fn variants(&self) -> Value {
        let [x, y] = self.sun.0;
        let attributes = |alt: &str| json!({ "alt": alt, "credit": "Made by Bindery", "folder": "Landscapes", "focal_x": rounded(x), "focal_y": rounded(y) });
        self.alt.iter().map(|(slug, alt)| ((*slug).to_owned(), attributes(alt))).collect()
    }

    /// Returns the description in a language.
    pub(crate) fn alt(&self, variant: &str) -> &'static str {
        self.alt.iter().find(|(slug, _)| *slug == variant).map_or("", |(_, alt)| alt)
    }

    /// Draws the picture. Returns a JPEG.
    ///
    /// # Errors
    /// `INTERNAL` if it cannot be encoded.
    pub(crate) fn draw(&self) -> Result<Vec<u8>> {
        let ranges: Vec<Vec<f32>> = (0..RANGES).map(|range| self.heights(range)).collect();
        let colors: Vec<Color> =
            (0..RANGES).map(|range| mix(self.hills[0], self.hills[1], range as f32 / (RANGES - 1) as f32)).collect();
        let picture = RgbImage::from_fn(WIDTH, HEIGHT, |x, y| {
            let front = (0..RANGES).rev().find(|range| y as f32 >= ranges[*range][x as usize]);
            Rgb(front.map_or_else(|| self.sky_at(x, y), |range| colors[range]))
        });
        let mut bytes = Cursor::new(Vec::new());
        picture.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, QUALITY)).map_err(Error::internal)?;
        Ok(bytes.into_inner())
    }

    /// Returns the upper edge of a range of hills for each column: a sum of waves.
    fn heights(&self, range: usize) -> Vec<f32> {
        let mut random = self.seed.wrapping_mul(747_796_405).wrapping_add((range as u32).wrapping_mul(2_891_336_453));
        let mut phase = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as f32 / (1 << 24) as f32 * TAU
        };
        let waves: Vec<(f32, f32, f32)> =
            (0..5).map(|wave| (1.5_f32.powi(wave) * 1.1, 0.06 * 0.55_f32.powi(wave), phase())).collect();
        let base = 0.5 + 0.1 * range as f32;
        let at =
            |x: f32| waves.iter().map(|(count, height, phase)| height * (x * count * TAU + phase).sin()).sum::<f32>();
        (0..WIDTH).map(|x| (base + at(x as f32 / WIDTH as f32)) * HEIGHT as f32).collect()
    }

    fn sky_at(&self, x: u32, y: u32) -> Color {
        let sky = mix(self.sky[0], self.sky[1], (y as f32 / (0.7 * HEIGHT as f32)).min(1.0));
        let ([sun_x, sun_y], color) = self.sun;
        let (dx, dy) = (x as f32 - sun_x * WIDTH as f32, y as f32 - sun_y * HEIGHT as f32);
        let distance = (dx * dx + dy * dy).sqrt();
        // A disk with a soft edge, in a glow.
        let disk = (45.0 - distance).clamp(0.0, 2.0) / 2.0;
        let glow = 0.5 * (1.0 - distance / 360.0).max(0.0).powi(2);
        mix(sky, color, disk.max(glow))
    }
}

fn mix(from: Color, to: Color, part: f32) -> Color {
    std::array::from_fn(|channel| {
        let (from, to) = (f32::from(from[channel]), f32::from(to[channel]));
        (from + (to - from) * part).round() as u8
    })
}

/// Two digits are enough for a focal point, and `f32` has more when it becomes JSON.
fn rounded(coordinate: f32) -> f64 {
    (f64::from(coordinate) * 100.0).round() / 100.0
}
