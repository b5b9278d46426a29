import { shuffled } from "../shuffled.js";
import { type RandomSource, splitmix64 } from "../splitmix64.js";
import type { OfficeContents } from "./office.js";
import { owner } from "./tools.js";

/** A call that a job's solution makes. */
export interface SolutionCall {
  readonly tool: string;
  readonly args: object;
}

/** Something to be done in an office. */
export interface Job {
  readonly request: string;
  readonly office: OfficeContents;
  readonly solution: readonly SolutionCall[];
}

const people = ["ana", "bo", "chidi", "dora", "emre", "fumiko"].map((name) => `${name}@office.example`);
const things = ["printer", "projector", "door", "coffee machine", "heating", "scanner", "lift", "phone"];
const troubles = ["makes a noise", "does not start", "shows an error", "is locked"];
const meetings = ["Budget", "Roadmap", "Hiring", "Retrospective", "Launch"];
const hours = ["09:00", "10:30", "13:00", "15:30"];

/** The places of a list, from 1: the numbers of rows. */
const numbered = <T extends object>(rows: readonly T[]): (T & { readonly id: number })[] =>
  rows.map((row, i) => ({ id: i + 1, ...row }));

function randomOffice(random: RandomSource): OfficeContents {
  const person = (): string => shuffled(people, random)[0] ?? owner;
  const trouble = (thing: string): string => `The ${thing} ${shuffled(troubles, random)[0]}`;
  const [mailed, ticketed] = [shuffled(things, random), shuffled(things, random)];
  return {
    mails: numbered(
      mailed.map((thing) => {
        const subject = trouble(thing);
        return {
          sender: person(),
          recipient: owner,
          subject,
          body: `${subject}. Please help.`,
          folder: "inbox" as const,
        };
      }),
    ),
    events: numbered(
      shuffled(meetings, random).map((title) => ({
        title,
        day: `2030-05-${random.integer(10, 28)}`,
        start: random.pick(["09:00", "11:00", "14:00"]),
        attendees: shuffled(people, random).slice(0, random.integer(1, 3)).join(", "),
      })),
    ),
    tickets: numbered(
      ticketed.map((thing) => ({
        title: trouble(thing),
        status: random.pick(["open", "open", "closed"]),
        priority: random.pick(["low", "normal", "high"]),
        assignee: person(),
      })),
    ),
  };
}

type Plan = Omit<Job, "office">;

/** A mail becomes a ticket. */
function openTicket({ mails }: OfficeContents, random: RandomSource): Plan {
  const [mail] = shuffled(mails, random);
  const { id = 0, subject = "" } = mail ?? {};
  const assignee = shuffled(people, random)[0] ?? owner;
  const priority = random.pick(["low", "high"]);
  return {
    request: `There is a mail in my inbox, "${subject}". Open a ticket titled exactly like it with priority ${priority}, assigned to ${assignee}, and move the mail to the folder done.`,
    solution: [
      { tool: "create_ticket", args: { title: subject, priority, assignee } },
      { tool: "move_mail", args: { id, folder: "done" } },
    ],
  };
}

/** An event is moved, and those who attend are told. */
function moveMeeting({ events }: OfficeContents, random: RandomSource): Plan {
  const [event] = shuffled(events, random);
  const { id = 0, title = "", attendees = "" } = event ?? {};
  const day = `2030-06-${random.integer(10, 28)}`;
  const start = shuffled(hours, random)[0] ?? "";
  const subject = `Moved: ${title}`;
  return {
    request: `Move the event "${title}" to ${day} at ${start}, and send each of its attendees a mail with the subject "${subject}".`,
    solution: [
      { tool: "move_event", args: { id, day, start } },
      ...attendees.split(", ").map((to) => ({
        tool: "send_mail",
        args: { to, subject, body: `It is on ${day} at ${start} now.` },
      })),
    ],
  };
}

/** Somebody's open tickets become somebody else's. */
function handOver({ tickets }: OfficeContents, random: RandomSource): Plan {
  const open = shuffled(
    tickets.filter(({ status }) => status === "open"),
    random,
  );
  const from = open[0]?.assignee ?? owner;
  const to =
    shuffled(
      people.filter((person) => person !== from),
      random,
    )[0] ?? owner;
  const theirs = open.filter(({ assignee }) => assignee === from);
  return {
    request: `${from} is on leave. Assign each open ticket of theirs to ${to}, and send ${to} one mail with the subject "Handover".`,
    solution: [
      ...theirs.map(({ id }) => ({ tool: "update_ticket", args: { id, assignee: to } })),
      {
        tool: "send_mail",
        args: { to, subject: "Handover", body: `${theirs.length} tickets are yours now.` },
      },
    ],
  };
}

/** A follow-up is put into the calendar, and its ticket raised. */
function followUp({ tickets }: OfficeContents, random: RandomSource): Plan {
  const [ticket] = shuffled(
    tickets.filter(({ priority }) => priority !== "high"),
    random,
  );
  const { id = 0, title = "", assignee = "" } = ticket ?? {};
  const day = `2030-07-${random.integer(10, 28)}`;
  return {
    request: `Raise the ticket "${title}" to priority high, and put an event "Follow-up: ${title}" into the calendar on ${day} at 10:00, with the ticket's assignee as the only attendee.`,
    solution: [
      { tool: "update_ticket", args: { id, priority: "high" } },
      {
        tool: "create_event",
        args: { title: `Follow-up: ${title}`, day, start: "10:00", attendees: [assignee] },
      },
    ],
  };
}

const plans = [openTicket, moveMeeting, handOver, followUp] as const;

/** A job from a seed: the kinds of jobs take turns by the index. */
export function randomJob(index: number, seed: bigint): Job {
  const plan = plans[index % plans.length] ?? openTicket;
  for (let attempt = 0n; ; attempt += 1n) {
    const random = splitmix64(seed + attempt);
    const office = randomOffice(random);
    const job = plan(office, random);
    // An office may lack what the job is about, such as a ticket that is still open.
    if (JSON.stringify(job.solution).includes('"id":0')) continue;
    return { office, ...job };
  }
}
