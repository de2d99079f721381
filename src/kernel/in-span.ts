import { type Span, type SpanOptions, SpanStatusCode, trace } from '@opentelemetry/api';
import { LedgerError, toError } from './errors.ts';

// Spans without a registered tracer are empty and cost next to nothing.
const tracer = trace.getTracer('wallet-ledger');

/**
 * Runs `work` inside a child span of the current one. Spans carry names, counts and codes, and no data of the wallet. A
 * failure is recorded by its code or class name, because its message may quote the service.
 */
export async function inSpan<T>(
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  return await tracer.startActiveSpan(name, options, async (span) => {
    try {
      return await work(span);
    } catch (thrown) {
      const error = toError(thrown);
      span.setStatus({
        code: SpanStatusCode.ERROR,
        message: error instanceof LedgerError ? error.code : error.name,
      });
      throw thrown;
    } finally {
      span.end();
    }
  });
}
