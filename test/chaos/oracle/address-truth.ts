import type { SeededRandom } from '../../support/seeded-random.ts';
import { inventAddress } from './invent-transaction.ts';

/** `serial`: of the call that generated it; null: there before, somebody else's. */
type Address = { slip44: number; address: string; serial: number | null; generatedAt: number };

/** Order is by `seq`, one counter for all of these; times of one millisecond have no order. */
type AddressPost = {
  serial: number;
  slip44: number;
  num: number;
  receivedSeq: number;
  receivedAt: number;
  /** Null while it is unanswered. */
  finishedSeq: number | null;
  finishedAt: number | null;
  generated: number;
  isAnswerLost: boolean;
};

type AddressListRead = {
  seq: number;
  slip44: number;
  at: number;
  page: number;
  /** True if new addresses appear on this page. */
  showsNewest: boolean;
};

export type AddressTruth = {
  readonly addresses: ReadonlyMap<number, readonly Address[]>;
  readonly posts: readonly AddressPost[];
  readonly reads: readonly AddressListRead[];
  /** A request to generate has come in. */
  receive(serial: number, slip44: number, num: number): AddressPost;
  generate(post: AddressPost): Address[];
  finish(serial: number, isLost: boolean): void;
  lose(serial: number): void;
  /** Somebody else generates addresses with the same key. */
  operate(slip44: number, count: number): void;
  /** True for an address that a request of the program brought about. */
  isGenerated(slip44: number, address: string): boolean;
  noteRead(slip44: number, page: number, showsNewest: boolean): void;
  /** The chain's addresses that the list shows by now, oldest first; undefined for an unknown chain. */
  visible(slip44: number): { all: readonly Address[]; count: number } | undefined;
  some(): string | null;
};

const foreignPerChain = 23;
/** Number of these foreign addresses that never get a deposit. */
const untouchedPerChain = 10;

export function createAddressTruth(
  random: SeededRandom,
  slip44s: readonly number[],
  lagMs: number,
): AddressTruth {
  const addresses = new Map<number, Address[]>();
  const posts: AddressPost[] = [];
  const reads: AddressListRead[] = [];
  const bySerial = new Map<number, AddressPost>();
  let seq = 0;
  const invent = (slip44: number, serial: number | null, generatedAt: number) => {
    const address = { slip44, address: inventAddress(random, slip44), serial, generatedAt };
    addresses.get(slip44)?.push(address);
    return address;
  };
  for (const slip44 of slip44s) {
    addresses.set(slip44, []);
    for (let index = 0; index < foreignPerChain; index += 1) invent(slip44, null, 0);
  }
  return {
    addresses,
    posts,
    reads,
    receive(serial, slip44, num) {
      const post: AddressPost = {
        serial,
        slip44,
        num,
        receivedSeq: ++seq,
        receivedAt: Date.now(),
        finishedSeq: null,
        finishedAt: null,
        generated: 0,
        isAnswerLost: false,
      };
      posts.push(post);
      bySerial.set(serial, post);
      return post;
    },
    generate(post) {
      post.generated = post.num;
      const now = Date.now();
      return Array.from({ length: post.num }, () => invent(post.slip44, post.serial, now));
    },
    finish(serial, isLost) {
      const post = bySerial.get(serial);
      if (!post || post.finishedSeq !== null) return;
      post.finishedSeq = ++seq;
      post.finishedAt = Date.now();
      post.isAnswerLost ||= isLost;
    },
    lose(serial) {
      const post = bySerial.get(serial);
      if (post) post.isAnswerLost = true;
    },
    operate(slip44, count) {
      const now = Date.now();
      for (let index = 0; index < count; index += 1) invent(slip44, null, now);
    },
    isGenerated: (slip44, address) =>
      addresses.get(slip44)?.some((own) => own.address === address && own.serial !== null) ?? false,
    noteRead(slip44, page, showsNewest) {
      reads.push({ seq: ++seq, slip44, at: Date.now(), page, showsNewest });
    },
    visible(slip44) {
      const all = addresses.get(slip44);
      if (!all) return undefined;
      let count = all.length;
      const shownUntil = Date.now() - lagMs;
      while (count > 0 && (all[count - 1]?.generatedAt ?? 0) > shownUntil) count -= 1;
      return { all, count };
    },
    some() {
      const chain = addresses.get(random.pick(slip44s)) ?? [];
      const index = random.below(chain.length - untouchedPerChain);
      const place = index < foreignPerChain - untouchedPerChain ? index : index + untouchedPerChain;
      return chain[place]?.address ?? null;
    },
  };
}
