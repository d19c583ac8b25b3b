// Answers each line of standard input, several at once, as JSON lines: `node batch.mjs [model] < questions.txt`.
import { createInterface } from 'node:readline';
import { loadModel } from 'rocmforge';

const sequences = 4; // so many answers are computed together
const model = await loadModel(process.argv[2], { sequences });
const answers = [];
for await (const question of createInterface({ input: process.stdin })) {
  const messages = [{ role: 'user', content: question }];
  answers.push(model.chat(messages, { maxTokens: 100 }).text());
}
for (const answer of answers) console.log(JSON.stringify({ answer: await answer }));
await model.dispose();
