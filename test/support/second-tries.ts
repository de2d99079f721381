import type { TestCase } from 'vitest/node';
import type { Reporter } from 'vitest/reporters';

/** Prints the tests that passed only in their second try, so that they are noticed. */
export class SecondTries implements Reporter {
  readonly #flaky: string[] = [];

  onTestCaseResult(testCase: TestCase): void {
    if (testCase.diagnostic()?.flaky) {
      this.#flaky.push(`${testCase.module.relativeModuleId} > ${testCase.fullName}`);
    }
  }

  onTestRunEnd(): void {
    if (this.#flaky.length === 0) return;
    process.stdout.write(`\nPassed only in a second try:\n  ${this.#flaky.join('\n  ')}\n`);
  }
}
