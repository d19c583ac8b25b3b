// Finds the texts that are most similar to a question: `node search.mjs "question" [model]`. Take a model that was trained to embed, such as
// hf:nomic-ai/nomic-embed-text-v1.5-GGUF; the bundled one only shows how it is done.
import { loadModel } from 'rocmforge';

const [question = 'Where do pandas live?', location] = process.argv.slice(2);
const texts = [
  'Pandas eat bamboo in the mountains of China.',
  'The bank closes at noon.',
  'Rain is expected on Friday.',
];

const model = await loadModel(location, location ? {} : { pooling: 'mean' });
const vectorOf = async (text) => (await model.embed(text)).vector;
const wanted = await vectorOf(question);
const vectors = await Promise.all(texts.map(vectorOf));
// Vectors have the length 1, so this is the cosine of the angle between them.
const similarity = (vector) => vector.reduce((sum, value, i) => sum + value * wanted[i], 0);
const found = texts
  .map((text, i) => ({ text, score: similarity(vectors[i]) }))
  .sort((a, b) => b.score - a.score);
for (const { text, score } of found) console.log(score.toFixed(3), text);
await model.dispose();
