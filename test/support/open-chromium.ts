import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { programOnPath } from './program-on-path.ts';

export type Chromium = { context: BrowserContext; close(): Promise<void> };

export function chromiumProgram(): string | undefined {
  return programOnPath(['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']);
}

/** Starts the installed Chromium with an empty profile and without background requests. */
export async function openChromium(executablePath: string): Promise<Chromium> {
  const profile = await mkdtemp(join(tmpdir(), 'wallet-ledger-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  return {
    context,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}
