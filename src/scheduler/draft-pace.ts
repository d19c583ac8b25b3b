/**
 * Steps in a row whose mean is a sample: where steps are pipelined, the results of one arrive late and those of the next
 * right behind them. The lower median of the latest samples is the time of a number of draft tokens.
 */
const STEPS_PER_SAMPLE = 3;
const SAMPLES = 5;

/** Steps of a lesson on one number of draft tokens, of which the first may be recorded; and after how many it is given up. */
const LESSON_STEPS = 1 + STEPS_PER_SAMPLE;
const LESSON_TRIES = 4 * LESSON_STEPS;

/** Steps between two lessons, which double up to the maximum as the times become known. */
const LESSON_INTERVAL = { first: 4, known: 32, max: 512 };

/** How much of what was known of acceptance remains after another round: of one sequence, and of all. */
const MEMORY = { own: 0.9, all: 0.995 };

/** What is expected of draft tokens before any was verified, and how many verified ones it counts for. */
const PRIOR = { acceptance: 0.7, weight: 2 };

/** By how much another number of draft tokens must be better before it is used: times vary. */
const MARGIN = 1.03;

/** What a step of generating sequences alone took, including the time in which it waited for draft tokens. */
export interface DraftedStep {
  /** Its sequences. */
  readonly sequences: number;
  /** Their draft tokens. */
  readonly drafts: number;
  /** How many of the sequences do without drafts for now ... */
  readonly without: number;
  /** ... and how many of them may never have any. */
  readonly never: number;
  readonly ms: number;
}

/**
 * Tokens that a step is expected to yield with `drafts` draft tokens, each of which is right with probability
 * `acceptance` if those before it are (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative
 * Decoding", equation 1).
 */
export function expectedTokens(acceptance: number, drafts: number): number {
  if (acceptance >= 1) return drafts + 1;
  return (1 - acceptance ** (drafts + 1)) / (1 - acceptance);
}

/** How often tokens were right lately. */
class Acceptance {
  readonly #memory: number;
  #tried = 0;
  #right = 0;

  constructor(memory: number) {
    this.#memory = memory;
  }

  verified(tried: number, right: number): void {
    this.#tried = this.#memory * this.#tried + tried;
    this.#right = this.#memory * this.#right + right;
  }

  /** The rate, where `prior` counts for a few tokens. */
  rate(prior: number): number {
    return (this.#right + PRIOR.weight * prior) / (this.#tried + PRIOR.weight);
  }
}

/** Times of steps with about the same number of sequences, by draft tokens per sequence. */
class StepTimes {
  readonly #samples: number[][] = [];
  /** What `ms` found since the latest measurement. */
  readonly #found: number[] = [];
  /** The number of draft tokens of the latest steps, and the times of those after the first. */
  #latest = -1;
  #row: number[] = [];
  /** Measured steps so far. */
  steps = 0;
  /** When the next lesson begins, and how many there were. */
  due = LESSON_INTERVAL.first;
  lessons = 0;

  add(drafts: number, ms: number): void {
    if (this.#latest === drafts) this.#row.push(ms);
    else [this.#latest, this.#row] = [drafts, []];
    if (this.#row.length < STEPS_PER_SAMPLE) return;
    const samples = (this.#samples[drafts] ??= []);
    samples.push(this.#row.reduce((sum, one) => sum + one, 0) / STEPS_PER_SAMPLE);
    if (samples.length > SAMPLES) samples.shift();
    this.#row = [];
    this.#found.length = 0;
  }

  /** Whether the time without draft tokens and one with them are known. */
  get isKnown(): boolean {
    return this.#samples[0] !== undefined && this.#samples.some((_, drafts) => drafts > 0);
  }

  /**
   * The time of a step: measured, or by those of the nearest numbers of draft tokens that were. More than were measured are thought
   * to take no longer: if they seem best they are tried, and their time is known.
   */
  ms(drafts: number): number {
    return (this.#found[drafts] ??= this.#estimate(drafts));
  }

  #estimate(drafts: number): number {
    const known = [...this.#samples.keys()].filter((at) => this.#samples[at] !== undefined);
    const high = known.find((at) => at >= drafts) ?? known.at(-1);
    if (high !== undefined && high <= drafts) return this.#median(high);
    const low = known.findLast((at) => at < drafts);
    if (high === undefined || low === undefined) return Number.NaN;
    const [highMs, lowMs] = [this.#median(high), this.#median(low)];
    return Math.max(lowMs, lowMs + ((highMs - lowMs) * (drafts - low)) / (high - low));
  }

  #median(drafts: number): number {
    const sorted = (this.#samples[drafts] ?? []).toSorted((a, b) => a - b);
    return sorted[(sorted.length - 1) >> 1] as number;
  }
}

/** The number of draft tokens of one sequence. */
export interface DraftCount {
  /** Decides how many it has next: 0 while they cost more than they save. */
  choose(): number;
  /** Records that of `proposed` draft tokens the first `accepted` were right; none proposed counts as a wrong one. */
  verified(proposed: number, accepted: number): void;
}

/** What limits the number of draft tokens. */
export interface DraftLimits {
  /** Most per sequence and step. */
  readonly max: number;
  /** Fewest, if there are any. */
  readonly min: number;
  /** Whether the number follows acceptance and load; otherwise it is always the maximum. */
  readonly adapts: boolean;
}

/**
 * Chooses how many draft tokens sequences have: the number with the most expected tokens per time, by each sequence's
 * acceptance and by the measured times of steps with as many sequences (the goodput of Liu et al. 2024, "Optimizing
 * Speculative Decoding for Serving Large Language Models Using Goodput"). All sequences of a step are assumed to choose
 * alike. Where draft tokens cost more than they save (few are right, or the batch is so full that each row costs), there
 * are none. Lessons of a few steps, which become rare, measure the times of other numbers, and whether drafts that were
 * given up are right again.
 */
export class DraftPace {
  readonly limits: DraftLimits;
  readonly #times = new Map<number, StepTimes>();
  readonly #acceptance = new Acceptance(MEMORY.all);
  #current = new StepTimes();
  #load = -1;
  #lesson: { readonly drafts: number; left: number; tries: number } | undefined;

  constructor(limits: DraftLimits) {
    this.limits = limits;
  }

  /** The number of draft tokens of a sequence that may have up to `max`. */
  follow(max: number): DraftCount {
    const own = new Acceptance(MEMORY.own);
    let latest = max;
    const choose = () => {
      if (this.#lesson) return Math.min(this.#lesson.drafts, max);
      latest = this.#best(own.rate(this.#acceptance.rate(PRIOR.acceptance)), latest, max);
      return latest;
    };
    const verified = (proposed: number, accepted: number) => {
      const tried = Math.min(accepted + 1, Math.max(1, proposed));
      own.verified(tried, accepted);
      this.#acceptance.verified(tried, accepted);
    };
    return { choose, verified };
  }

  /** Records the time of a step without rows of prompts. */
  measured({ sequences, drafts, without, never, ms }: DraftedStep): void {
    if (!this.limits.adapts || sequences === 0) return;
    const load = Math.round(2 * Math.log2(sequences));
    if (load !== this.#load) this.#enter(load);
    const times = this.#current;
    const count = drafts === 0 ? 0 : Math.max(1, Math.round(drafts / sequences));
    // Sequences that found nothing to propose, or do not agree on whether to, tell no number's time.
    const isOfOneKind = drafts === 0 ? without === sequences : without <= sequences / 2;
    if (isOfOneKind) times.add(count, ms);
    // In these no lesson could be held.
    if (never === sequences) return;
    times.steps++;
    const lesson = this.#lesson;
    if (lesson) {
      lesson.tries--;
      if (isOfOneKind && count === lesson.drafts) lesson.left--;
      if (lesson.left <= 0 || lesson.tries <= 0) this.#lesson = undefined;
    } else if (times.steps >= times.due) this.#teach(times, count);
  }

  /** Steps have another number of sequences: the times of those count. */
  #enter(load: number): void {
    this.#load = load;
    this.#lesson = undefined;
    let times = this.#times.get(load);
    if (!times) this.#times.set(load, (times = new StepTimes()));
    this.#current = times;
  }

  /** Begins a lesson on another number of draft tokens than `count`: none, the most or the fewest, in turn. */
  #teach(times: StepTimes, count: number): void {
    const { min, max } = this.limits;
    const subjects = [0, max, Math.max(1, min)].filter((drafts) => drafts !== count);
    const drafts = subjects[times.lessons % subjects.length] as number;
    this.#lesson = { drafts, left: LESSON_STEPS, tries: LESSON_TRIES };
    const { first, known, max: most } = LESSON_INTERVAL;
    const again = times.lessons < 2 ? first : known * 2 ** (times.lessons - 2);
    times.lessons++;
    times.due = times.steps + LESSON_STEPS + Math.min(again, most);
  }

  /** The number with the most tokens per time. */
  #best(acceptance: number, latest: number, most: number): number {
    if (!this.limits.adapts) return most;
    const times = this.#known();
    if (!times) return most;
    const goodput = (drafts: number) => expectedTokens(acceptance, drafts) / times.ms(drafts);
    let best = { drafts: latest, goodput: MARGIN * goodput(latest) };
    for (let drafts = 0; drafts <= most; drafts++) {
      if (drafts > 0 && drafts < this.limits.min) continue;
      const found = { drafts, goodput: goodput(drafts) };
      if (found.goodput > best.goodput) best = found;
    }
    return best.drafts;
  }

  /** The times at this load, or at the nearest one that has been measured. */
  #known(): StepTimes | undefined {
    if (this.#current.isKnown) return this.#current;
    const others = [...this.#times].filter(([, times]) => times.isKnown);
    const distance = ([load]: [number, StepTimes]) => Math.abs(load - this.#load);
    return others.toSorted((a, b) => distance(a) - distance(b))[0]?.[1];
  }
}
