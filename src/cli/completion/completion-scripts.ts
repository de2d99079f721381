import { type CommandNode, type OptionNode, type Placed, placesOf } from './command-tree.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** Returns the script that completes the program's commands and options in a shell. */
export function completionScript(program: CommandNode, shell: Shell): string {
  return writers[shell](program);
}

const writers: Record<Shell, (program: CommandNode) => string> = {
  bash: (program) => {
    const { name } = program;
    const places = placesOf(program);
    const words = ({ node }: Placed) => [...wordsOf(node), ...namesOf(node)];
    return `# bash completion of ${name}: eval "$(${name} completion bash)"
_${idOf(name)}() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} place= word
${walk(places, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  COMPREPLY=()
  case "$place $before" in
${values(places, {
  choices: (choices) => `COMPREPLY=($(compgen -W ${quote(choices.join(' '))} -- "$current"))`,
  file: 'COMPREPLY=($(compgen -f -- "$current"))',
})}
  esac
  case "$place" in
${places.map((place) => `    ${placeName(place)}) word=${quote(words(place).join(' '))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$word" -- "$current"))
}
complete -F _${idOf(name)} ${name}
`;
  },
  zsh: (program) => {
    const { name } = program;
    const places = placesOf(program);
    const described = ({ node }: Placed) => [
      ...node.choices.map((choice) => quote(choice)),
      ...node.commands.map((each) => quote(`${each.name}:${each.description}`)),
      ...node.options.flatMap(({ names, description }) =>
        names.map((each) => quote(`${each}:${description}`)),
      ),
    ];
    return `#compdef ${name}
# zsh completion of ${name}: eval "$(${name} completion zsh)", or this text as _${name} in a folder of $fpath
_${idOf(name)}() {
  local before=\${words[CURRENT-1]} place= word
  local -a found
${walk(places, '"${(@)words[2,CURRENT-1]}"')}
  case "$place $before" in
${values(places, { choices: (choices) => `compadd -- ${choices.map(quote).join(' ')}`, file: '_files' })}
  esac
  case "$place" in
${places.map((place) => `    ${placeName(place)}) found=(${described(place).join(' ')}) ;;`).join('\n')}
  esac
  _describe ${quote(name)} found
}
if [ "\${funcstack[1]}" = "_${idOf(name)}" ]; then _${idOf(name)} "$@"; else compdef _${idOf(name)} ${name}; fi
`;
  },
  fish: (program) => {
    const lines = placesOf(program).flatMap((place) => fishLines(program.name, place));
    return `# fish completion of ${program.name}: ${program.name} completion fish | source
complete -c ${program.name} -f
${lines.join('\n')}
`;
  },
};

function fishLines(program: string, { path, node }: Placed): string[] {
  const rest = node.commands.map(({ name }) => name).join(' ');
  const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`);
  const deeper = path.length > 0 && rest !== '' ? [`not __fish_seen_subcommand_from ${rest}`] : [];
  const condition =
    path.length === 0 ? '__fish_use_subcommand' : [...seen, ...deeper].join('; and ');
  const start = `complete -c ${program} -n ${quote(condition)}`;
  const flag = (name: string) =>
    name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`;
  const value = ({ takes, choices }: OptionNode) => {
    if (takes === 'nothing') return '';
    return choices.length > 0
      ? ` -x -a ${quote(choices.join(' '))}`
      : takes === 'file'
        ? ' -r -F'
        : ' -x';
  };
  return [
    ...node.choices.map((choice) => `${start} -a ${quote(choice)}`),
    ...node.commands.map((each) => `${start} -a ${each.name} -d ${quote(each.description)}`),
    ...node.options.map(
      (option) =>
        `${start} ${option.names.map(flag).join(' ')}${value(option)} -d ${quote(option.description)}`,
    ),
  ];
}

/** Returns shell lines that follow the words typed so far down to the command; bash and zsh share them. */
function walk(places: Placed[], typed: string): string {
  const known = places.filter(({ path }) => path.length > 0).map(placeName);
  return `  for word in ${typed}; do
    case "$place/$word" in
      ${known.join('|')}) place="$place/$word" ;;
    esac
  done`;
}

/** Returns the cases for a cursor after an option that takes a value. */
function values(
  places: Placed[],
  say: { choices(choices: string[]): string; file: string },
): string {
  const lines = places.flatMap((place) =>
    place.node.options
      .filter(({ takes }) => takes !== 'nothing')
      .map(({ names, takes, choices }) => {
        const patterns = names.map((name) => quote(`${pathText(place)} ${name}`)).join('|');
        const known = choices.length > 0 ? say.choices(choices) : takes === 'file' ? say.file : ':';
        return `    ${patterns}) ${known}; return ;;`;
      }),
  );
  return lines.join('\n');
}

function pathText({ path }: Placed): string {
  return path.map((name) => `/${name}`).join('');
}

function placeName(place: Placed): string {
  return place.path.length === 0 ? "''" : pathText(place);
}

function wordsOf({ commands, choices }: CommandNode): string[] {
  return [...commands.map(({ name }) => name), ...choices];
}

function namesOf({ options }: CommandNode): string[] {
  return options.flatMap(({ names }) => names);
}

function idOf(name: string): string {
  return name.replaceAll(/\W/g, '_');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
