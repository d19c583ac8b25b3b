// An answer that a program can use: `node typed-answer.mjs [model]`.
import { loadModel } from 'rocmforge';

const model = await loadModel(process.argv[2]);
const schema = {
  type: 'object',
  properties: {
    city: { enum: ['Rome', 'Paris', 'Berlin'] },
    certain: { type: 'boolean' },
  },
  required: ['city', 'certain'],
  additionalProperties: false,
};
const messages = [{ role: 'user', content: 'What is the capital of France?' }];
const { city, certain } = await model.chat(messages, { schema }).json();
console.log(`${city}, ${certain ? 'certainly' : 'perhaps'}`);
await model.dispose();
