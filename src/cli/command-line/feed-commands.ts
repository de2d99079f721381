import { eventNumber } from './argument-parsers.ts';
import { type CommandGroup, jsonOption } from './command-group.ts';

export const addFeedCommands: CommandGroup = (program, run) => {
  const feed = program
    .command('feed')
    .description('show who reads the change feed; pause, resume and replay webhooks');
  const commands = () => import('../commands/feed.ts');
  feed
    .command('list')
    .description(
      'show the consumers and webhooks of the feed, and how far each is; exits with 3 while one of them fails',
    )
    .option(...jsonOption)
    .action(async (options) => {
      const { feedList } = await commands();
      await run.inContext((context) => feedList(context, options));
    });
  feed
    .command('pause')
    .argument('<name>', 'name of the webhook in FEED_WEBHOOKS')
    .description('send nothing more to a webhook; its events wait')
    .action(async (name: string) => {
      const { feedPause } = await commands();
      await run.inContext((context) => feedPause(context, name), { needs: ['credentials'] });
    });
  feed
    .command('resume')
    .argument('<name>', 'name of the webhook in FEED_WEBHOOKS')
    .description('send to a webhook again that was paused, or that the program has stopped')
    .action(async (name: string) => {
      const { feedResume } = await commands();
      await run.inContext((context) => feedResume(context, name), { needs: ['credentials'] });
    });
  feed
    .command('replay')
    .argument('<name>', 'name of the webhook in FEED_WEBHOOKS')
    .requiredOption('--from <seq>', 'number of the first event to send again', eventNumber)
    .description('send events to a webhook again, in order, from one of them on')
    .action(async (name: string, options) => {
      const { feedReplay } = await commands();
      await run.inContext((context) => feedReplay(context, name, options), {
        needs: ['credentials'],
      });
    });
};
