// Reads the figures of /metrics, in the text format of OpenMetrics.
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

const LINE = /^([A-Za-z_:][\w:]*)(?:\{([^}]*)\})?\s+(\S+)/;

export function readMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const match = line.startsWith('#') ? null : LINE.exec(line);
    if (!match) continue;
    const labels = Object.fromEntries([...(match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map((pair) => [pair[1]!, pair[2]!]));
    samples.push({ name: match[1]!, labels, value: Number(match[3]) });
  }
  return samples;
}

export const metric = (samples: Sample[], name: string, labels: Record<string, string> = {}): number | undefined =>
  samples.find((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))?.value;
