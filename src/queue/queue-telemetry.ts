import { ROOT_CONTEXT } from '@opentelemetry/api';
import type { Telemetry } from 'bullmq';

/**
 * BullMQ's own spans. Each run of a job begins a trace of its own: handed on from run to run, as BullMQ would, the
 * trace of a schedule would never end.
 */
export async function loadQueueTelemetry(): Promise<Telemetry> {
  const { BullMQOtel } = await import('bullmq-otel');
  const telemetry = new BullMQOtel({ tracerName: 'wallet-ledger' });
  Object.assign(telemetry.contextManager, { getMetadata: () => '', root: () => ROOT_CONTEXT });
  return telemetry;
}
