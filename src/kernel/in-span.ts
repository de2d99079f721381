import { type Span, type SpanOptions, SpanStatusCode, trace } from '@opentelemetry/api';
import { LedgerError, toError } from './errors.ts';

// Until a tracer is registered its spans are empty and cost next to nothing.
const tracer = trace.getTracer('wallet-ledger');

/**
 * Runs `work` inside a span, below the span that is current. Spans carry names, counts and codes and nothing of the
 * wallet's own; a failure is told by its code, for its message may quote the service.
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
