/** The recordings that the start screen offers, one for each cause. */

/** `file` without its ending, in the folder that the attribute `samples` names. */
export const SAMPLES = [
  { file: 'resident', title: 'Weights and states', says: 'A model that fills the limit by itself' },
  { file: 'activations', title: 'Activations', says: 'One pass that needs too much at once' },
  { file: 'fragmentation', title: 'Fragmentation', says: 'Memory idle, in holes too small' },
  { file: 'leak', title: 'A leak', says: 'Each step keeps something' },
  { file: 'kv-cache', title: 'KV cache', says: 'Generation that fills the card' },
  { file: 'cannot-tell', title: 'A file that cannot tell', says: 'And how to record one that can' },
];

/** The address of a sample in a folder, relative to the page. */
export function sampleAddress(folder, { file }) {
  return `${folder.replace(/\/?$/, '/')}${file}.pickle.xz`;
}
