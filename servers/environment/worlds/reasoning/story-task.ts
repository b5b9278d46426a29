import type { RandomSource } from "../splitmix64.js";
import { evaluate } from "./calculator.js";
import { formatRational } from "./rational.js";
import type { Riddle } from "./riddle.js";

const NAMES = ["Amara", "Björn", "Chen", "Dalia", "Elif", "Femi", "Greta", "Hiro"] as const;
const GOODS = ["apples", "pencils", "tickets", "stamps", "marbles", "buttons", "shells", "candles"] as const;

/**
 * A task in words whose story has as many steps as its difficulty. Each step changes one running amount, so
 * that there is one answer and one way to read the story.
 */
export function storyTask(random: RandomSource, difficulty: number): Riddle {
  const name = random.pick(NAMES);
  const goods = random.pick(GOODS);
  let amount = random.integer(10, 60);
  let expression = `${amount}`;
  const sentences = [`${name} has ${amount} ${goods}.`];
  for (let step = 0; step < difficulty; step += 1) {
    const next = nextStep(random, amount, goods);
    sentences.push(next.sentence);
    expression = `(${expression}) ${next.operation}`;
    amount = next.amount;
  }
  sentences.push(`How many ${goods} does ${name} have now?`);
  return { question: sentences.join(" "), expected: formatRational(evaluate(expression)) };
}

interface Step {
  readonly sentence: string;
  /** What the step does to the amount, as the end of an expression. */
  readonly operation: string;
  readonly amount: number;
}

function nextStep(random: RandomSource, amount: number, goods: string): Step {
  const some = random.integer(2, 30);
  const packs = random.integer(2, 9);
  const each = random.integer(3, 12);
  const steps: [Step, ...Step[]] = [
    { sentence: `Then come ${some} more.`, operation: `+ ${some}`, amount: amount + some },
    {
      sentence: `Then come ${packs} bags with ${each} ${goods} each.`,
      operation: `+ ${packs} * ${each}`,
      amount: amount + packs * each,
    },
  ];
  if (amount > some) {
    steps.push({ sentence: `Then ${some} are given away.`, operation: `- ${some}`, amount: amount - some });
  }
  if (amount > 0 && amount % 2 === 0) {
    steps.push({ sentence: "Then half of them are sold.", operation: "/ 2", amount: amount / 2 });
  }
  if (amount < 200) {
    steps.push({ sentence: "Then the number doubles.", operation: "* 2", amount: amount * 2 });
  }
  return random.pick(steps);
}
