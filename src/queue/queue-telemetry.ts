import { ROOT_CONTEXT } from '@opentelemetry/api';
import type { Telemetry } from 'bullmq';

/**
 * Loads BullMQ's tracing, with a trace of its own for each run of a job. BullMQ would continue the trace from run to
 * run, so the trace of a schedule would never end.
 */
export async function loadQueueTelemetry(): Promise<Telemetry> {
  const { BullMQOtel } = await import('bullmq-otel');
  const telemetry = new BullMQOtel({ tracerName: 'wallet-ledger' });
  Object.assign(telemetry.contextManager, { getMetadata: () => '', root: () => ROOT_CONTEXT });
  return telemetry;
}
