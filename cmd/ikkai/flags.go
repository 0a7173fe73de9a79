package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// newFlags returns the flags of a command, with a help that says what else it takes and what there
// is to know.
func newFlags(name, arguments, notes string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.Usage = func() {
		if arguments != "" {
			arguments = " " + arguments
		}
		fmt.Fprintf(flags.Output(), "usage: %s [flags]%s\n\n", name, arguments)
		if notes != "" {
			fmt.Fprintln(flags.Output(), notes)
		}
		flags.PrintDefaults()
	}
	return flags
}

// parse reads a command's flags; it takes no further arguments.
func parse(flags *flag.FlagSet, args []string, stderr io.Writer) error {
	_, err := parseArguments(flags, args, stderr, 0, 0)
	return err
}

// parseWithArgument reads flags before and after the one argument.
func parseWithArgument(flags *flag.FlagSet, args []string, stderr io.Writer) (string, error) {
	return parseArguments(flags, args, stderr, 1, 1)
}

// parseArgument reads flags before and after an argument, which may be left out.
func parseArgument(flags *flag.FlagSet, args []string, stderr io.Writer) (string, error) {
	return parseArguments(flags, args, stderr, 0, 1)
}

func parseArguments(flags *flag.FlagSet, args []string, stderr io.Writer, least, most int) (string, error) {
	flags.SetOutput(stderr)
	var arguments []string
	for {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return "", err
			}
			return "", errUsage
		}
		if flags.NArg() == 0 {
			break
		}
		arguments = append(arguments, flags.Arg(0))
		args = flags.Args()[1:]
	}
	switch {
	case len(arguments) > 0 && most == 0:
		fmt.Fprintf(stderr, "%s takes no argument %q\n", flags.Name(), arguments[0])
	case len(arguments) < least || len(arguments) > most:
		fmt.Fprintf(stderr, "%s takes one argument, not %d\n", flags.Name(), len(arguments))
	case len(arguments) == 1:
		return arguments[0], nil
	default:
		return "", nil
	}
	flags.Usage()
	return "", errUsage
}
