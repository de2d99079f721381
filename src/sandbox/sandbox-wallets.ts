import { type Credentials, createCredentials } from './authentication/signing-recipes.ts';
import type { Answer } from './sandbox-answer.ts';
import { createFaults, type Faults } from './sandbox-faults.ts';
import type { SandboxOptions } from './sandbox-options.ts';
import { createStats, type EndpointPath, type SandboxStats } from './sandbox-stats.ts';
import { hash32, purpose } from './seeded-hash.ts';
import { createWalletWorlds, type WalletWorld } from './world/wallet-world.ts';

/** Wallet of the emulated service, with a key of its own. */
export type SandboxWallet = {
  name: string;
  /** Options of the sandbox with the wallet's own seed. */
  options: SandboxOptions;
  credentials: Credentials;
  world: WalletWorld;
  stats: SandboxStats;
  faults: Faults;
  /** Answers that replace an endpoint's own and may be malformed; the endpoint still does its work. */
  answers: Map<EndpointPath, Answer>;
};

/** Creates the wallets that the options name. The first wallet's key does not depend on the number of wallets. */
export function createSandboxWallets(options: SandboxOptions): SandboxWallet[] {
  const optionsOfWallets = options.wallets.map((_, place) => optionsOf(options, place));
  const worlds = createWalletWorlds(optionsOfWallets);
  const signer = options.signer === 'none' ? 'params-secp256k1' : options.signer;
  return worlds.map((world, place) => {
    const own = optionsOf(options, place);
    return {
      name: options.wallets[place] ?? '',
      options: own,
      credentials: createCredentials(signer, own.seed, own),
      world,
      stats: createStats(),
      faults: createFaults(own),
      answers: new Map(),
    };
  });
}

function optionsOf(options: SandboxOptions, place: number): SandboxOptions {
  if (place === 0) return options;
  const seed = hash32(options.seed, purpose.wallet, place);
  return { ...options, seed, apiKey: null, apiSecret: null };
}
