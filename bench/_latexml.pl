# LaTeXML in one process: formulas as lines on standard input; prints how many, how many gave MathML, processor seconds.
use strict;
use warnings;
use LaTeXML;
use LaTeXML::Common::Config;

binmode(STDIN, ':encoding(UTF-8)');
my @formulas = <STDIN>;
chomp @formulas;
my $config = LaTeXML::Common::Config->new();
$config->read([qw(--whatsin=math --whatsout=math --format=xhtml --pmml --cmml --preload=amsmath.sty --preload=amssymb.sty --quiet --quiet)]);
$config->check;
my $converter = LaTeXML->get_converter($config);
$converter->prepare_session($config);
# The first one loads what all need.
$converter->convert('literal:x+1');
my $start = processor();
# On some input it dies; that counts as not converted.
my $good = grep { (eval { $converter->convert("literal:$_")->{result} } // '') =~ /<math/ } @formulas;
printf "%d %d %.3f\n", scalar @formulas, $good, processor() - $start;

sub processor { my ($user, $system) = times; return $user + $system; }
