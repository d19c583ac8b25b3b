import { pathToFileURL } from 'node:url';

/** The parent's request, as the first argument in JSON. */
export interface PeerRequest {
  readonly module: string;
  readonly model: string;
  readonly threads: number;
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly repetitions: number;
}

/** Tokens per second of each counted round, printed as JSON. */
export interface PeerSpeeds {
  readonly prompt: readonly number[];
  readonly generation: readonly number[];
  readonly loadSeconds: number;
}

/** The part of node-llama-cpp's interface that is used here. */
interface Peer {
  getLlama(options: object): Promise<{ loadModel(options: object): Promise<PeerModel> }>;
}

interface PeerModel {
  createContext(options: object): Promise<{ getSequence(): PeerSequence }>;
}

interface PeerSequence {
  clearHistory(): Promise<void>;
  evaluate(tokens: readonly number[], options: object): AsyncGenerator<number, void>;
}

const GREEDY = { temperature: 0, yieldEogToken: true };

/** Seconds until the first token after `prompt`, and from there for `count` more. */
async function timeRound(sequence: PeerSequence, prompt: readonly number[], count: number) {
  await sequence.clearHistory();
  const tokens = sequence.evaluate(prompt, GREEDY);
  const begin = performance.now();
  await tokens.next();
  const first = performance.now();
  for (let i = 0; i < count; i++) await tokens.next();
  const end = performance.now();
  await tokens.return();
  return { prompt: (first - begin) / 1000, generation: (end - first) / 1000 };
}

async function measure(request: PeerRequest): Promise<PeerSpeeds> {
  const { threads, promptTokens, generatedTokens } = request;
  const { getLlama } = (await import(pathToFileURL(request.module).href)) as Peer;
  const llama = await getLlama({ gpu: false, build: 'never', skipDownload: true, maxThreads: threads });
  const begin = performance.now();
  const model = await llama.loadModel({ modelPath: request.model, gpuLayers: 0 });
  const loadSeconds = (performance.now() - begin) / 1000;
  const contextSize = Math.max(promptTokens, generatedTokens) + 8;
  const context = await model.createContext({
    contextSize,
    batchSize: 512,
    threads: { ideal: threads, min: threads },
  });
  const sequence = context.getSequence();
  const prompt = Array.from({ length: promptTokens }, (_, i) => 300 + ((i * 37) % 1000));
  const speeds = { prompt: [] as number[], generation: [] as number[], loadSeconds };
  for (let round = 0; round <= request.repetitions; round++) {
    const read = await timeRound(sequence, prompt, 0);
    const generated = await timeRound(sequence, [300], generatedTokens);
    if (round === 0) continue;
    speeds.prompt.push(promptTokens / read.prompt);
    speeds.generation.push(generatedTokens / generated.generation);
  }
  return speeds;
}

console.log(JSON.stringify(await measure(JSON.parse(process.argv[2] ?? '{}') as PeerRequest)));
// The library's threads would keep the process alive.
process.exit(0);
